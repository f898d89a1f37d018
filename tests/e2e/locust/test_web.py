"""Our page beside Locust's, in its web UI: what it says before, during and after a run."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.replay_server import CHUNKED_HEAD, Replay, ReplayServer, after, chunked, whole

from reports.result import load

_PARTS = Path(__file__).with_name("web_parts.py")
ATTACK = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
MODEL = 'a "quoted" <b>model</b>'
SCENARIO = """
schema: 1
name: short
load: {arrivals: constant, rate: 25, requests: 10}
prompts: {source: text, text: "say <b>it</b>"}
sampling: {max_tokens: 4}
thresholds:
  ttft: ["p50 < 5s"]
"""


def _models() -> Replay:
    return whole(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode())


def _answer() -> Replay:
    """A stream whose text is an attack."""
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": text} for text in (ATTACK, " and", " more")),
    ]
    events = [{"id": "1", "model": MODEL, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    events[-1]["choices"][0]["finish_reason"] = "stop"  # type: ignore[index]
    events.append({"id": "1", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 3}})
    data = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    pieces = chunked([*data, b"data: [DONE]\n\n"])
    return Replay(CHUNKED_HEAD, after(0.02, pieces))


def _serving(server: ReplayServer, reply: Replay) -> None:
    """Models to whoever asks for them, nothing known of metrics, and ``reply`` to the rest."""

    def script(number: int) -> Replay:
        line = server.received[number].head.split(b"\r\n")[0]
        if b"/models" in line:
            return _models()
        return reply if line.startswith(b"POST") else whole(b"nothing here", "404 Not Found", "text/plain")

    server.play_by(script)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def seen(folder: Path) -> Any:
    """What ``web_parts.py`` saw, against a server whose answers are an attack and one whose errors are."""
    scenario = folder / "short.yaml"
    scenario.write_text(SCENARIO)
    with ReplayServer() as good, ReplayServer() as bad:
        _serving(good, _answer())
        _serving(bad, whole(json.dumps({"error": {"message": ATTACK}}).encode(), "500 Internal Server Error"))
        done = subprocess.run(
            [sys.executable, str(_PARTS), good.url, bad.url, str(scenario), str(folder)],
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "seen.json").read_text())


def test_before_the_first_run_the_page_says_what_to_do(seen: dict[str, Any]) -> None:
    assert seen["idle"]["state"] == "idle"
    assert "Start one on Locust's page" in seen["idle"]["sentence"]
    assert seen["no files"] == [404, 404]


def test_the_page_needs_nothing_from_elsewhere_and_lets_no_other_script_run(seen: dict[str, Any]) -> None:
    policy = seen["page"]["headers"]["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
    assert "unsafe" not in policy
    assert "//" not in seen["page"]["body"].replace("http://www.w3.org/2000/svg", "")
    assert "innerHTML" not in seen["script"]["body"]
    assert "prefers-color-scheme: dark" in seen["style"]["body"]


def test_no_other_site_may_read_it(seen: dict[str, Any]) -> None:
    """Locust lets any site read its own routes; prompts and answers are none of their business."""
    assert "Access-Control-Allow-Origin" not in seen["page"]["headers"]
    assert seen["page"]["headers"]["Cache-Control"] == "no-store"


def test_while_a_run_goes_on_its_figures_are_there_without_a_verdict(seen: dict[str, Any]) -> None:
    running = seen["running"]
    assert running["state"] == "running"
    assert "rules" not in running
    assert running["tiles"][0][0] == "In flight"
    assert running["facts"][1] == ["model", MODEL]
    assert running["health"]


def test_after_the_run_the_page_is_the_result(seen: dict[str, Any], folder: Path) -> None:
    result, ended = load(folder / "run" / "result.json"), seen["ended"]
    assert ended["word"] == (result.verdict.value if result.verdict else "")
    (rule,) = ended["rules"]
    assert rule["rule"] == "ttft p50 < 5s"
    assert rule["verdict"] == result.rules[0].verdict
    assert [name for name, _ in ended["files"]] == [
        "report.html",
        "histograms.hlog",
        "journal.jsonl",
        "result.json",
    ]


def test_the_rate_is_that_of_the_form(seen: dict[str, Any], folder: Path) -> None:
    """Where the scenario says 25."""
    load_ = load(folder / "run" / "result.json").scenario["load"]
    assert float(load_["rate"]) == 50
    assert '"rate"' in seen["index"]


def test_B5_03_a_very_short_run_has_tables_and_charts(seen: dict[str, Any]) -> None:
    """Ten requests within 0.2 s."""
    charts = {chart["name"]: chart for chart in seen["ended"]["charts"]}
    assert {"ttft-time", "itl-time", "tpot-time", "requests-time", "tokens-time"} <= set(charts)
    for name in ("ttft-time", "itl-time"):
        assert any(y is not None for y in charts[name]["series"][0]["ys"])
        assert charts[name]["marks"]
    rows = {(row[0], row[1]): row for row in seen["ended"]["metrics"]}
    assert rows["Time to first token", "response"][3] == "10"


def test_B5_05_what_is_on_screen_is_in_the_downloads_too(seen: dict[str, Any], folder: Path) -> None:
    """Tables of Locust's page, our CSV, Locust's CSV and report, our report."""
    result = load(folder / "run" / "result.json")
    tables = {each["key"]: each["data"] for each in seen["statistics"]["extended_stats"]}
    rows = {(row["metric"], row["basis"]): row for row in csv.DictReader(seen["csv"]["body"].splitlines())}
    for name, basis in (("ttft", "response"), ("itl", ""), ("tpot", "")):
        metric = result.metric(name)
        assert metric is not None
        assert tables[f"tokenpace-{name}"][0]["n"] == f"{metric.n:,}"
        assert tables[f"tokenpace-{name}"][0]["p99"]
        p99 = metric.percentile(99.0)
        assert p99 is not None
        assert float(rows[name, basis]["p99"]) == p99.value
    assert tables["tokenpace-objectives"][0]["objective"] == "ttft p50 < 5s"
    assert tables["tokenpace-health"]
    assert "Goodput" in [row["rate"] for row in tables["tokenpace-rates"]]
    for page in ("locust csv", "locust report"):
        assert "TTFT" in seen[page]
        assert "TPOT" in seen[page]
    assert "Inter-token latency" in seen["files"]["report.html"]["body"]


def test_locusts_page_has_the_tabs_and_the_links(seen: dict[str, Any]) -> None:
    for title in ("TTFT", "ITL", "TPOT", "Rates and goodput", "Objectives", "Client health"):
        assert f'"title": "{title}"' in seen["index"]
    assert '"./tokenpace/metrics.csv"' in seen["index"]


def test_B5_06_a_reset_while_a_run_goes_on_is_refused_with_words(seen: dict[str, Any]) -> None:
    assert seen["reset meanwhile"]["status"] == 409
    assert "Reset was refused" in seen["reset meanwhile"]["body"]
    assert seen["remark"] == seen["reset meanwhile"]["body"]


def test_a_run_that_is_stopped_is_marked(seen: dict[str, Any]) -> None:
    assert seen["stopped"]["word"] == "INTERRUPTED"
    assert "Ended by Locust" in seen["stopped"]["sentence"]
    assert seen["stopped"]["metrics"]


def test_B5_06_a_reset_by_option_is_refused_too(seen: dict[str, Any]) -> None:
    assert "--reset-stats" in seen["reset by option"]["sentence"]


def test_B5_06_a_reset_after_it_wipes_everything_together(seen: dict[str, Any], folder: Path) -> None:
    assert seen["reset"]["status"] == 200
    assert seen["requests after reset"] == [0, 0, 0]
    assert seen["after reset"]["state"] == "idle"
    assert set(seen["after reset"]) == {"state", "word", "sentence", "remark"}
    assert (folder / "run" / "result.json").exists()


@pytest.mark.parametrize("name", ["report.html", "histograms.hlog", "journal.jsonl", "result.json"])
def test_files_of_the_run_come_as_they_are_and_are_not_opened_here(
    name: str, seen: dict[str, Any], folder: Path
) -> None:
    got = seen["files"][name]
    assert got["status"] == 200
    assert got["body"] == (folder / "run" / name).read_text()
    assert got["headers"]["Content-Disposition"].startswith("attachment")
    assert got["headers"]["X-Content-Type-Options"] == "nosniff"


def test_nothing_else_of_the_folder_is_given(seen: dict[str, Any]) -> None:
    assert [seen["files"][name]["status"] for name in ("manifest.json", "..%2Fx")] == [404, 404]


def test_B5_01_what_models_and_servers_say_is_data(seen: dict[str, Any]) -> None:
    """As JSON, for a script that puts it in as text: the browser's test sees that."""
    assert seen["ended"]["samples"][0][1].startswith(ATTACK)
    (error,) = seen["failures"]["errors"]
    assert ATTACK in error[2]
    assert seen["failures"]["word"]
    assert ATTACK not in seen["index"] + seen["page"]["body"]


def test_a_refusal_is_on_the_page(seen: dict[str, Any]) -> None:
    """The folder of the run before is taken."""
    assert seen["refused"]["word"] == "NO RUN"
    assert "holds files already" in seen["refused"]["sentence"]


def test_where_locust_asks_for_a_login_so_do_we(seen: dict[str, Any]) -> None:
    for path, reply in seen["logged out"].items():
        assert reply["status"] == 302, path
        assert "/login" in reply["headers"]["Location"]
    assert seen["logged in"] == {
        "": 200,
        "page.css": 200,
        "page.js": 200,
        "live.json": 200,
        "metrics.csv": 200,
        "files/report.html": 404,
    }
