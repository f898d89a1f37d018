"""What is made of a run's result, and how the servers are started."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import contenders, long_prompt, servers
from benchmarks.serving import NotReadyError, Served

SERVER = Served("a server", "m", None, Path("log"), url="http://127.0.0.1:1/")


def result(*, ok: int = 4, tokens: int = 4 * servers.OUTPUT_LEN) -> dict[str, Any]:
    """TTFT of 50 and 99 ms, TPOT of 7 ms, 120 tokens a second."""
    times = {"ttft": {50: 50e6, 99: 99e6}, "tpot": {50: 7e6}}
    return {
        "outcomes": {"ok": ok},
        "rates": [{"name": "output_token_rate", "value": 120.0, "numerator": tokens}],
        "metrics": [
            {"name": name, "percentiles": [{"p": p, "value": value} for p, value in values.items()]}
            for name, values in times.items()
        ],
    }


def test_a_cell_is_in_ms() -> None:
    assert servers._cell(SERVER, result(), 4) == {
        "output tok/s": 120.0,
        "TTFT p50 ms": 50.0,
        "TTFT p99 ms": 99.0,
        "TPOT p50 ms": 7.0,
    }


@pytest.mark.parametrize("wrong", [{"ok": 3}, {"tokens": 500}])
def test_answers_that_are_missing_or_short_are_no_measurement(wrong: dict[str, int]) -> None:
    with pytest.raises(RuntimeError, match="a server"):
        servers._cell(SERVER, result(**wrong), 4)


def test_a_server_that_can_not_be_held_to_a_length_may_answer_short() -> None:
    lax = Served("lax", "m", None, Path("log"), exact=False)
    assert servers._cell(lax, result(tokens=500), 4)["output tok/s"] == 120.0


def test_ratios_are_of_ours_to_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    cells = {"tokenpace q4_1": {"output tok/s": 150.0}, "vllm bf16": {"output tok/s": 60.0}}
    servers.print_all({1: cells})
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split() == ["tokenpace", "q4_1", "/", "vllm", "bf16", "2.50"]


def test_who_is_started_and_who_is_left_out() -> None:
    files = {"q4_1": Path("a.gguf"), "bf16": Path("b.gguf")}
    options = argparse.Namespace(
        vllm=None, transformers=None, llama_server=Path("llama"), hf_model=None, running=[("x", "http://h,m")]
    )
    ours = [each.name for each in contenders.ours(files)]
    theirs = list(contenders.theirs(options, files))
    assert ours == ["tokenpace q4_1", "tokenpace bf16", "tokenpace int8"]
    assert [each.name for each in theirs] == ["llama.cpp q4_1", "llama.cpp bf16", "x"]
    assert (theirs[-1].command, theirs[-1].url, theirs[-1].model) == (None, "http://h", "m")


def test_without_a_bf16_file_the_first_is_served_dense_too() -> None:
    dense, _, blocks = contenders.ours({"q4_1": Path("a.gguf")})
    assert dense.command is not None
    assert blocks.command is not None
    assert dense.command[-2:] == ["--quantization", "none"]
    assert "--quantization" not in blocks.command


def test_a_server_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such model')"]
    with pytest.raises(NotReadyError, match="no such model"), Served("x", "m", command, tmp_path / "log"):
        pass


def test_a_server_that_runs_already_is_left_alone() -> None:
    SERVER.signal(signal.SIGSTOP)
    SERVER.__exit__()


def test_gaps_before_and_after_are_told_apart() -> None:
    stream = long_prompt.Stream()
    stream.times = [0.0, 1.0, 2.0, 4.0, 5.0]
    assert list(stream.gaps(0.5, 2.0)) == [1.0, 1.0]
    assert list(stream.gaps(2.0, 5.0)) == [2.0, 1.0]


def test_the_ratio_is_of_the_99th_percentiles() -> None:
    found = long_prompt.figures(long_prompt.Gaps([0.01] * 100, [0.01] * 50 + [0.03] * 50, 2.0))
    assert found["ratio of p99"] == pytest.approx(3.0)
    assert found["quiet p50"] == pytest.approx(10.0)
    assert found["TTFT s"] == 2.0
