"""Traces: their published figures, their faults, and what is made of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scenarios import traces
from scenarios.arrivals import OpenLoop
from scenarios.errors import ScenarioError
from scenarios.scenario import Scenario, scenario_from
from scenarios.traces import TraceRow, read_trace

TRACES = Path(__file__).parents[2] / "data" / "traces"


def _scenario(file: str | Path, kind: str, folder: Path = TRACES, **load: Any) -> Scenario:
    trace = {"file": str(file), "format": kind}
    data = {"load": {"arrivals": "replay", **trace, **load}, "prompts": {"source": "trace", **trace}}
    return scenario_from({"name": "trace", **data}, folder=folder)


@pytest.mark.parametrize(
    ("name", "count", "seconds", "rate", "cv", "context", "generated"),
    [
        ("code", 8_819, 3_435.948, 2.5667, 13.15, (2047.848, 1469), (27.883, 13)),
        ("conv", 19_366, 3_501.722, 5.5304, 1.094, (1154.697, 1020), (211.126, 129)),
    ],
)
def test_azure_trace_has_its_published_figures(
    name: str,
    count: int,
    seconds: float,
    rate: float,
    cv: float,
    context: tuple[float, int],
    generated: tuple[float, int],
) -> None:
    rows = read_trace(TRACES / f"AzureLLMInferenceTrace_{name}.csv", "azure")
    gaps = np.diff([row.time_ns for row in rows])
    prompts, answers = ([getattr(row, key) for row in rows] for key in ("prompt_tokens", "output_tokens"))
    assert len(rows) == count
    assert rows[-1].time_ns / 1e9 == pytest.approx(seconds, abs=0.0005)
    assert len(rows) / rows[-1].time_ns * 1e9 == pytest.approx(rate, abs=0.00005)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.0005)
    assert (round(np.mean(prompts), 3), np.median(prompts)) == context
    assert (round(np.mean(answers), 3), np.median(answers)) == generated


@pytest.mark.parametrize(
    ("name", "num_rows", "num_hits", "num_blocks"),
    [("conversation_head2000", 2000, 15_771, 54_559), ("synthetic_head1500", 1500, 8_383, 35_135)],
)
def test_mooncake_trace_has_its_published_hit_share(
    name: str, num_rows: int, num_hits: int, num_blocks: int
) -> None:
    """Blocks that an endless prefix cache would have had."""
    rows = read_trace(TRACES / f"mooncake_{name}.jsonl", "mooncake")
    blocks = [block for row in rows for block in row.block_ids]
    assert (len(rows), len(blocks)) == (num_rows, num_blocks)
    assert len(blocks) - len(set(blocks)) == num_hits


def test_burstgpt_trace_has_the_figures_of_its_rows() -> None:
    """Without the two requests that failed there."""
    rows = read_trace(TRACES / "burstgpt_1_head40.csv", "burstgpt")
    gaps = np.diff([row.time_ns for row in rows])
    prompts, answers = ([getattr(row, key) for row in rows] for key in ("prompt_tokens", "output_tokens"))
    assert (len(rows), rows[0], rows[-1].time_ns) == (38, TraceRow(0, 472, 18), 4_569 * 10**9)
    assert gaps.std() / gaps.mean() == pytest.approx(1.74107, abs=0.00001)
    assert (sum(prompts), np.median(prompts)) == (28_681, 593.5)
    assert (sum(answers), np.median(answers)) == (13_469, 336.5)


def test_burstgpt_trace_of_the_third_release_is_read(tmp_path: Path) -> None:
    """Its two columns more stand in the middle."""
    text = (
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "12.25,a,3.5,GPT-4,100,20,120,Conversation log\n\n"
        "13,,9.1,ChatGPT,7,0,7,API log\n"
        "13.1234567891,,0.5,ChatGPT,7,8,15,API log\n"
    )
    (tmp_path / "t").write_text(text, encoding="utf-8")
    assert read_trace(tmp_path / "t", "burstgpt") == [TraceRow(0, 100, 20), TraceRow(873_456_789, 7, 8)]


def test_replay_of_burstgpt_is_a_scenario() -> None:
    schedule = _scenario("burstgpt_1_head40.csv", "burstgpt", speed=1000.0).schedule()
    arrivals = list(schedule.arrivals)
    assert (schedule.num_requests, arrivals[1].due_ns) == (38, 40_000_000)
    assert len((arrivals[1].prompt.text or "").split()) == 1087


def test_mooncake_prompts_state_their_hit_share() -> None:
    notes = _scenario("mooncake_conversation_head2000.jsonl", "mooncake", requests=2).schedule().notes
    assert any("trace: 15771 of its 54559 blocks of 512 came before (28.91 %)" in note for note in notes)


def test_replay_sends_at_the_times_of_the_trace() -> None:
    schedule = _scenario("AzureLLMInferenceTrace_code.csv", "azure").schedule()
    assert schedule.num_requests == 8_819
    assert schedule.planned_rate == pytest.approx(2.5667, abs=0.00005)
    arrivals = list(itertools.islice(schedule.arrivals, 3))
    assert [arrival.due_ns for arrival in arrivals] == [0, 52_000_000, 98_189_000]
    assert [len((arrival.prompt.text or "").split()) for arrival in arrivals] == [4808, 3180, 110]
    assert [arrival.sampling for arrival in arrivals] == [{"max_tokens": n} for n in (10, 8, 27)]


def test_replay_at_speed_keeps_the_pattern() -> None:
    plain = _scenario("AzureLLMInferenceTrace_code.csv", "azure", requests=50)
    fast = _scenario("AzureLLMInferenceTrace_code.csv", "azure", requests=50, speed=4.0)
    times, fast_times = ([a.due_ns or 0 for a in s.schedule().arrivals] for s in (plain, fast))
    assert [round(time / 4) for time in times] == fast_times
    assert isinstance(plain.load, OpenLoop)
    assert isinstance(fast.load, OpenLoop)
    assert fast.load.planned_rate == pytest.approx(4 * plain.load.planned_rate)


def test_replay_is_cut_by_duration() -> None:
    schedule = _scenario("AzureLLMInferenceTrace_conv.csv", "azure", duration="60s").schedule()
    times = [arrival.due_ns or 0 for arrival in schedule.arrivals]
    assert len(times) == schedule.num_requests
    assert max(times) < 60e9


def test_mooncake_prompts_share_the_text_of_the_blocks_they_share() -> None:
    rows = read_trace(TRACES / "mooncake_conversation_head2000.jsonl", "mooncake")
    scenario = _scenario("mooncake_conversation_head2000.jsonl", "mooncake", requests=12)
    texts = [(arrival.prompt.text or "").split() for arrival in scenario.schedule().arrivals]
    assert [len(text) for text in texts] == [row.prompt_tokens for row in rows[:12]]
    for (one, one_text), (two, two_text) in itertools.combinations(zip(rows, texts, strict=False), 2):
        shared = _num_equal(one.block_ids, two.block_ids) * 512
        assert shared <= _num_equal(one_text, two_text) < shared + 8


def _num_equal(one: Any, two: Any) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def test_rows_are_put_in_order_of_time(tmp_path: Path) -> None:
    lines = ['{"timestamp": 20.5, "input_length": 2, "output_length": 1}', ""]
    lines.append('{"timestamp": 10, "input_length": 3, "output_length": 4, "hash_ids": [7]}')
    (tmp_path / "t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert read_trace(tmp_path / "t.jsonl", "mooncake") == [
        TraceRow(0, 3, 4, (7,)),
        TraceRow(10_500_000, 2, 1),
    ]


def test_azure_times_with_a_zone_are_read(tmp_path: Path) -> None:
    lines = "2024-05-10 00:00:00.009930+00:00,2162,5", "2024-05-10 00:01:00+00:00,2399,6"
    text = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join(lines)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert read_trace(tmp_path / "t.csv", "azure") == [
        TraceRow(0, 2162, 5),
        TraceRow(59_990_070_000, 2399, 6),
    ]


BURST_HEAD = "Timestamp,Request tokens,Response tokens\n"
AZURE_HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("azure", "", "no column TIMESTAMP or ContextTokens or GeneratedTokens"),
        ("azure", "TIMESTAMP,ContextTokens\n", "no column GeneratedTokens; is this an Azure trace"),
        ("azure", AZURE_HEAD, "a trace without a request"),
        ("azure", AZURE_HEAD + "yesterday,1,2\n", "t:2: 'yesterday,1,2' is no time and two lengths"),
        ("azure", AZURE_HEAD + "2023-11-16 18:17:03.9,-1,2\n", "t:2: .* is no time and two lengths"),
        ("azure", AZURE_HEAD + "2023-11-16 18:17:03.9,1\n", "t:2: .* is no time and two lengths"),
        ("azure", AZURE_HEAD + "a" * 200_000, "t:2: field larger than field limit"),
        ("azure", AZURE_HEAD + "2023-11-16 18:17:03.9,1," + "9" * 5000, "t:2: .* is no time and two lengths"),
        ("azure", AZURE_HEAD + "2023-11-16 18:17:03.9,99000000,2", "a prompt of 99000000 tokens; at most"),
        ("burstgpt", "", "no column Timestamp or Request tokens or Response tokens"),
        ("burstgpt", "Timestamp,Request tokens\n", "no column Response tokens; is this a BurstGPT trace"),
        ("burstgpt", BURST_HEAD, "a trace without a request"),
        ("burstgpt", BURST_HEAD + "5,1,0\n", "a trace without a request"),
        ("burstgpt", BURST_HEAD + "noon,1,2\n", "t:2: 'noon,1,2' is no time and two lengths"),
        ("burstgpt", BURST_HEAD + "5,1\n", "t:2: '5,1,' is no time and two lengths"),
        ("burstgpt", BURST_HEAD + "5,1,-2\n", "t:2: .* is no time and two lengths"),
        ("burstgpt", BURST_HEAD + "a" * 200_000, "t:2: field larger than field limit"),
        ("mooncake", "", "a trace without a request"),
        ("mooncake", "\n{}\n", "t:2: Object missing required field `timestamp`"),
        (
            "mooncake",
            '{"timestamp": 0, "input_length": -1}',
            r"t:1: Expected `int` >= 0 - at `\$\.input_length`",
        ),
        (
            "mooncake",
            '{"timestamp": 0, "input_length": 513, "output_length": 1, "hash_ids": [1]}',
            "t:1: 1 hash_ids don't make 513 tokens",
        ),
    ],
)
def test_fault_in_a_trace_is_found_before_load(tmp_path: Path, kind: str, text: str, message: str) -> None:
    (tmp_path / "t").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=message):
        _scenario("t", kind, tmp_path)


def test_format_that_is_not_there_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"load\.format: 'azur' is unknown; did you mean 'azure'"):
        _scenario("AzureLLMInferenceTrace_code.csv", "azur")
    assert {"azure", "burstgpt", "mooncake"} <= set(traces.names())


def test_trace_that_names_only_some_blocks_is_made_of_distinct_prompts(tmp_path: Path) -> None:
    lines = ['{"timestamp": 0, "input_length": 3, "output_length": 1, "hash_ids": [7]}']
    lines.append('{"timestamp": 0, "input_length": 2, "output_length": 0}')
    (tmp_path / "t").write_text("\n".join(lines), encoding="utf-8")
    arrivals = list(_scenario("t", "mooncake", tmp_path).schedule().arrivals)
    assert [len((arrival.prompt.text or "").split()) for arrival in arrivals] == [3, 2]
    assert [arrival.sampling["max_tokens"] for arrival in arrivals] == [1, 1]


def _notes(folder: Path, kind: str, text: str, **load: Any) -> tuple[str, ...]:
    (folder / "t").write_text(text, encoding="utf-8")
    return _scenario("t", kind, folder, **load).schedule().notes


def test_requests_that_failed_there_are_counted(tmp_path: Path) -> None:
    rows = "5,472,18\n45,1087,0\n118,417,276\n119,3,0\n"
    assert "t: requests left out because they failed there: 2 of 4" in _notes(
        tmp_path, "burstgpt", BURST_HEAD + rows
    )
    with pytest.raises(ScenarioError, match=r"without a request; t: requests left out .* there: 1 of 1$"):
        _notes(tmp_path, "burstgpt", BURST_HEAD + "5,1,0\n")


def test_replay_without_the_prompts_of_the_trace_counts_them_too(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(BURST_HEAD + "5,1,2\n6,1,0\n", encoding="utf-8")
    load = {"arrivals": "replay", "file": "t", "format": "burstgpt"}
    data = {"name": "t", "load": load, "prompts": {"source": "text", "text": "Hi"}}
    notes = scenario_from(data, folder=tmp_path).schedule().notes
    assert "t: requests left out because they failed there: 1 of 2" in notes


def test_lengths_of_0_are_counted_where_another_stands_for_them(tmp_path: Path) -> None:
    row = "2023-11-16 18:17:03.0,"
    notes = _notes(tmp_path, "azure", AZURE_HEAD + f"{row}5,0\n{row}0,0\n{row}3,2\n")
    assert "t: requests whose answer has 0 tokens, sent with max_tokens 1: 2 of 3" in notes
    assert "t: requests whose prompt has 0 tokens, sent with one of length 1: 1 of 3" in notes


def test_rows_put_in_order_are_counted_and_a_trace_in_order_has_no_note(tmp_path: Path) -> None:
    notes = _notes(tmp_path, "burstgpt", BURST_HEAD + "9,1,2\n5,1,2\n7,1,2\n9,1,2\n")
    assert "t: requests put in order of time: 2 of 4" in notes
    assert len(_notes(tmp_path, "burstgpt", BURST_HEAD + "9,1,2\n9,1,2\n")) == len(notes) - 1


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("azure", AZURE_HEAD + "2023-11-16 18:17:03.0,5,3\n"),
        ("burstgpt", BURST_HEAD + "5,5,3\n"),
        ("mooncake", '{"timestamp": 0, "input_length": 5, "output_length": 3}\n'),
    ],
)
def test_a_byte_order_mark_is_no_fault(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / "t").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_trace(tmp_path / "t", kind) == [TraceRow(0, 5, 3)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"timestamp": 1e300, "input_length": 1, "output_length": 1}', r"t:1: .*at `\$\.timestamp`"),
        (
            '{"timestamp": 0, "input_length": 1, "output_length": 99000000}',
            "an answer of 99000000 tokens; at m",
        ),
    ],
)
def test_times_and_lengths_out_of_reach_are_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "t").write_text(line, encoding="utf-8")
    with pytest.raises(ScenarioError, match=message):
        _scenario("t", "mooncake", tmp_path)
