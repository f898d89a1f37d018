"""A sweep as it is saved and shown."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from rich.console import Console

from harness.campaign.folder import CampaignFolder
from harness.result_folder import ResultFolderError
from harness.sweep.folder import SWEEP, point_name
from reports.result import Verdict
from reports.run_row import Latency
from reports.sweep.console import show
from reports.sweep.files import write_files
from reports.sweep.table import Axis, Point, Sweep, load
from reports.sweep.words import sentence

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "</script><img src=x onerror=alert(1)>"


def _point(number: int, verdict: Verdict | None, **values: Any) -> Point:
    return Point(
        number=number,
        values=values,
        verdict=verdict,
        causes=(EVIL,) if verdict is Verdict.INVALID else (),
        num_requests=100,
        achieved=3.5 * number,
        latencies=(Latency(name="ttft", p50=1e8 * number, p95=2e8 * number, p99=None),),
        folder=f"points/{number:03d}-rate-{number}",
    )


@pytest.fixture
def sweep() -> Sweep:
    return Sweep(
        tool_version="0",
        scenario_name="chat",
        scenario={"name": "chat"},
        axes=(Axis(key="load.rate", values=(1, 2)), Axis(key="sampling.max_tokens", values=(16, 32))),
        base_url="http://127.0.0.1:1/v1",
        model="tiny",
        started_at="2026-11-30T12:00:00+00:00",
        points=(
            _point(1, Verdict.PASS, **{"load.rate": 1, "sampling.max_tokens": 16}),
            _point(2, Verdict.PASS, **{"load.rate": 1, "sampling.max_tokens": 32}),
            _point(3, Verdict.FAIL, **{"load.rate": 2, "sampling.max_tokens": 16}),
        ),
    )


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["PASS", "PASS"], 0),
        (["PASS", "INCONCLUSIVE"], 3),
        (["FAIL", "INCONCLUSIVE"], 1),
        (["FAIL", "INVALID"], 4),
        ([None, None], 0),
    ],
)
def test_the_worst_verdict_is_the_sweep_s(sweep: Sweep, verdicts: list[str | None], code: int) -> None:
    points = [_point(i, None if word is None else Verdict(word)) for i, word in enumerate(verdicts)]
    assert msgspec.structs.replace(sweep, points=tuple(points)).exit_code == code
    assert msgspec.structs.replace(sweep, points=tuple(points), interrupted="SIGTERM").exit_code == 143
    assert msgspec.structs.replace(sweep, points=tuple(points), fault="gone").exit_code == 4


def test_a_sweep_without_a_point_says_nothing_of_objectives(sweep: Sweep) -> None:
    cut = msgspec.structs.replace(sweep, points=(), interrupted="SIGINT")
    assert sentence(cut) == "0 of 4 points were run."
    judged = msgspec.structs.replace(sweep, points=(_point(1, None),))
    assert sentence(judged) == "1 of 4 points were run; no objectives were stated."


def test_what_is_saved_is_what_is_read(tmp_path: Path, sweep: Sweep) -> None:
    folder = CampaignFolder(tmp_path / "sweep", SWEEP)
    assert folder.earlier(sweep) is None
    folder.save(sweep)
    assert load(folder.result_path) == sweep
    assert CampaignFolder(tmp_path / "sweep", SWEEP).earlier(sweep) == sweep
    with pytest.raises(ResultFolderError, match="another model"):
        folder.earlier(msgspec.structs.replace(sweep, model="other"))


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ResultFolderError, match="holds other things"):
        CampaignFolder(tmp_path, SWEEP)


def test_places_of_points_are_names_of_folders(tmp_path: Path) -> None:
    name = point_name(1, {"load.rate": 1, "prompts.text": "../../etc: a b"})
    assert name == "001-rate-1-text-..-..-etc-a-b"
    assert CampaignFolder(tmp_path, SWEEP).place(name) == tmp_path / "points" / name


def test_all_forms_show_all_points(tmp_path: Path, sweep: Sweep) -> None:
    html, markdown, table = (path.read_text() for path in write_files(sweep, tmp_path))
    assert "3 of 4 points were run; the objectives hold at 2 of them." in html
    assert html.count('<span class="badge') == 3
    assert html.count("<figure") == 2
    assert 'href="points/003-rate-3/report.html"' in html
    assert markdown.count("| PASS |") == 2
    rows = list(csv.DictReader(table.splitlines()))
    assert [(row["load.rate"], row["sampling.max_tokens"]) for row in rows] == [
        ("1", "16"),
        ("1", "32"),
        ("2", "16"),
    ]
    assert rows[2]["ttft_p95_ns"] == "600000000.0"


def test_B5_01_words_of_a_server_are_shown_literally(tmp_path: Path, sweep: Sweep) -> None:
    evil = _point(4, Verdict.INVALID, **{"load.rate": EVIL, "sampling.max_tokens": 32})
    html, markdown, _ = (
        path.read_text()
        for path in write_files(msgspec.structs.replace(sweep, points=(*sweep.points, evil)), tmp_path)
    )
    assert EVIL not in html
    assert html.count("</script>") == 2
    assert not re.search(r"(?<!\\)<", re.sub(r"`[^`]*`", "", markdown))


def test_a_sweep_over_words_has_no_charts(tmp_path: Path, sweep: Sweep) -> None:
    axes = (Axis(key="load.arrivals", values=("poisson", "constant")),)
    points = tuple(_point(i, None, **{"load.arrivals": word}) for i, word in enumerate(axes[0].values))
    words = msgspec.structs.replace(sweep, axes=axes, points=points)
    html = next(path.read_text() for path in write_files(words, tmp_path) if path.suffix == ".html")
    assert "<figure" not in html
    assert "NOT JUDGED" in html


@pytest.mark.parametrize("width", [80, 110])
def test_the_console_shows_keys_first(sweep: Sweep, width: int) -> None:
    console = Console(width=width)
    with console.capture() as capture:
        show(sweep, console)
    lines = capture.get().splitlines()
    head = next(line for line in lines if "max_tokens" in line)
    assert head.split()[:3] == ["rate", "max_tokens", "verdict"]
    assert all(len(line.rstrip()) <= width for line in lines)
