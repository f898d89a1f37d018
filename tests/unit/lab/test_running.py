"""An experiment from its file to its page, on a server that answers by a timetable."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from harness.cli import cli
from harness.lab import running
from harness.lab.experiment import load_experiment
from reports.lab.table import load
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.timetable_process import TimetableProcess

TEXT = """
schema: 1
name: small
question: Is it <b>so</b>?
prediction: It is.
server: {max_num_seqs: 4}
variants: {a: {kv_cache: "on"}, b: {kv_cache: off}}
scenario:
  load: {arrivals: closed, concurrency: 2, requests: 40}
  prompts: {source: text, text: [Hello there]}
  sampling: {max_tokens: 8}
over: {sampling.max_tokens: [8, 10]}
figures: [ttft p50, output_token_rate]
claims:
  - {variant: b, figure: ttft p50, at_most: 100, at: {sampling.max_tokens: 10}}
  - {variant: b, figure: output_token_rate, at_least: 100}
  - {variant: a, figure: output_token_rate, growth: true, at_most: 100}
costs: {free_rows: 2}
repeats: 2
"""

FIRST = {"sampling.max_tokens": 8}


@pytest.fixture
def served(timetable: TimetableProcess, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, object]]:
    """Models and settings of the servers that were asked for."""
    asked: list[tuple[str, object]] = []

    @contextlib.contextmanager
    def serving(what: str) -> Iterator[str]:
        model, option, path = shlex.split(what)
        assert option == "--config"
        asked.append((model, yaml.safe_load(Path(path).read_text())))
        yield timetable.url

    monkeypatch.setattr(running, "serving", serving)
    return asked


def test_the_order_of_the_variants_alternates(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT.replace("repeats: 2", "repeats: 3"))
    order = "".join(variant for _, variant in running.turns(load_experiment(path)))
    assert order == "abbaab"


def test_an_experiment_from_its_file_to_its_page(tmp_path: Path, served: list[tuple[str, object]]) -> None:
    path, output = tmp_path / "small.yaml", tmp_path / "out"
    path.write_text(TEXT)

    done = CliRunner().invoke(cli, ["lab", str(path), "--model", "tiny-random", "--output", str(output)])

    a, b = {"max_num_seqs": 4, "kv_cache": "on"}, {"max_num_seqs": 4, "kv_cache": False}
    assert served == [("tiny-random", a), ("tiny-random", b), ("tiny-random", b), ("tiny-random", a)]
    lab = load(output / "lab.json")
    assert [(run.variant, *run.values.values()) for run in lab.runs] == [
        ("a", 8), ("a", 8), ("b", 8), ("b", 8), ("a", 10), ("a", 10), ("b", 10), ("b", 10)
    ]  # fmt: skip
    assert [(e.against, e.variant, e.since) for e in lab.effects[::2]] == [
        ("a", "b", None), ("a", "b", None), ("a", "a", FIRST), ("b", "b", FIRST)
    ]  # fmt: skip
    for effect in lab.effects:
        assert effect.low is not None
        assert effect.high is not None
        assert effect.change is not None
        assert effect.low <= effect.change <= effect.high
    assert [claim.verdict for claim in lab.claims] == [
        Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.PASS
    ]  # fmt: skip
    assert done.exit_code == 1
    assert "2 of 4 claims are shown, by 8 runs" in done.output
    page = (output / "lab.html").read_text("utf-8")
    assert "Is it &lt;b&gt;so&lt;/b&gt;?" in page
    assert "<svg" in page
    assert all(f"{run.folder}/report.html" in page for run in lab.runs)

    again = CliRunner().invoke(cli, ["lab", str(path), "--output", str(output)])
    assert (again.exit_code, "holds an experiment already" in again.output) == (2, True)


def test_without_a_name_the_library_is_listed() -> None:
    done = CliRunner().invoke(cli, ["lab"])
    assert done.exit_code == 0
    assert "batching " in done.output
    assert "What is the KV cache worth" in done.output
