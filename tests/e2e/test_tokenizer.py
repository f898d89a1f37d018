"""Who counts tokens in a run, as the user sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.tokenpace_command import tokenpace

from harness import event_loop
from harness.run import run
from harness.workers.journals import read_records
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

    from harness.run import Run


def _run(url: str, folder: Path, **keys: Any) -> Run:
    data = {
        "name": "counted",
        "tokenizer": "server",
        "endpoint": "completions",
        "load": {"arrivals": "closed", "concurrency": 3, "requests": 12},
        "prompts": {"source": "synthetic", "length": {"min": 1, "max": 90}},
        "sampling": {"max_tokens": 2},
        "samples": 12,
        **keys,
    }
    workers = data.pop("workers", 1)
    asked = run(
        scenario_from(data),
        base_url=url,
        result_dir=folder,
        reports=("console", "html", "markdown"),
        workers=workers,
    )
    return event_loop.run(asked)


def test_A10_03_server_finds_the_lengths_that_were_asked_of_it(tiny_server: str, tmp_path: Path) -> None:
    """Usage is the length that a prompt was made with, and one for the token that begins a text."""
    done = _run(tiny_server, tmp_path / "run")
    records = list(done.records)
    assert {(record.prompt_tokens or 0) - (record.prompt_length or 0) for record in records} == {1}
    assert [record.prompt_length for record in records] == [len(record.prompt or "") for record in records]
    assert len({record.prompt_length for record in records}) > 6
    notes = done.result.notes
    assert [note for note in notes if "counted by the server's own tokenizer (/tokenize)" in note]
    assert [note for note in notes if note.startswith("the server counts 1 token more in each of 12 prompts")]


def test_tokens_of_a_chat_template_are_told_apart(tiny_server: str, tmp_path: Path) -> None:
    done = _run(tiny_server, tmp_path / "run", endpoint="chat")
    added = {(record.prompt_tokens or 0) - (record.prompt_length or 0) for record in done.records}
    assert len(added) == 1
    note = f"the server counts {added.pop()} tokens more in each of 12 prompts than it was made with"
    assert [each for each in done.result.notes if each.startswith(note)]


def test_several_processes_ask_the_server_and_send_the_same_prompts(tiny_server: str, tmp_path: Path) -> None:
    prompts = []
    for workers in (1, 2):
        folder = _run(tiny_server, tmp_path / str(workers), workers=workers).folder
        prompts.append(
            sorted(
                (each.index, each.prompt_length, each.prompt) for each in read_records(folder.journal_path)
            )
        )
    assert prompts[0] == prompts[1]
    assert len(prompts[0]) == 12


def test_A10_08_whoever_counted_stands_in_every_report(tiny_server: str, tmp_path: Path) -> None:
    done = _run(tiny_server, tmp_path / "run")
    assert done.result.token_source == "usage"
    for name in ("report.html", "summary.md"):
        text = (done.folder.path / name).read_text(encoding="utf-8")
        assert "output tokens counted by the server&#39;s usage" in text.replace("'", "&#39;"), name


OFFLINE = """
import sys
hosts = set()
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        hosts.add(str(args[1][0] if event == "socket.connect" else args[0]))
sys.addaudithook(watch)
from harness.cli import main
sys.argv = ["tokenpace", "run", sys.argv[1], "--base-url", sys.argv[2], "--output", sys.argv[3]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert hosts <= {"127.0.0.1"}, hosts
hub = {"huggingface_hub", "transformers", "tokenizers"} & set(sys.modules)
assert not hub, hub
"""


def test_A10_05_a_model_s_name_is_looked_up_nowhere(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Without a tokenizer the run has the server's counts, says so, and asks nobody but the server."""
    scenario = tmp_path / "offline.yaml"
    scenario.write_text(
        "schema: 1\nname: offline\nmodel: some-org/some-model\n"
        "load: {arrivals: closed, concurrency: 2, requests: 6}\n"
        "prompts: {source: synthetic, length: 30}\nsampling: {max_tokens: 3}\n",
        encoding="utf-8",
    )
    served = timetable.get("/v1/models").json()["data"][0]["id"]
    scenario.write_text(scenario.read_text().replace("some-org/some-model", served))
    done = tokenpace(scenario, timetable.url, tmp_path / "run", code=OFFLINE)
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    assert "lengths are exact in words; tokens are as the server counts them" in printed
    assert "output tokens counted by the server's usage" in printed
