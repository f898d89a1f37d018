"""Runs: the part of a stream whose events differ in nothing but a word."""

from __future__ import annotations

from typing import Any

import pytest

from reference_server.timetable.content import Ask, Content
from reference_server.timetable.http_response import CHUNKED
from reference_server.timetable.plan import Plan
from reference_server.timetable.run import Run
from reference_server.timetable.script import make_script
from reference_server.timetable.words import Vocabulary
from reference_server.timetable.writes import Steps, Write, can_run, stream_in_runs, stream_writes

MS = 1_000_000
VOCABULARY = Vocabulary(0)


def content(*, chat: bool = True, ids: bool = False, index: int = 0, **fields: Any) -> Content:
    script = make_script({"tokens": 9, "ttft": "5ms", "gap": "1ms", **fields})
    ask = Ask(
        chat=chat,
        model="m",
        num_prompt_tokens=3,
        usage=True,
        running_usage=script.usage == "continuous",
        token_ids=ids,
    )
    return Content(ask, script, Plan(script, 0, index, None), VOCABULARY, 1)


def carried_out(steps: Steps) -> list[Write]:
    """Runs written event by event."""
    writes: list[Write] = []
    for step in steps:
        if isinstance(step, Run):
            for i in range(step.num_events):
                event = step.before + VOCABULARY.text(step.position + i, 1) + step.after
                writes.append((step.due_ns + i * step.gap_ns, CHUNKED.frame(event), 1))
        else:
            writes.append(step)
    return writes


def what_is_sent(writes: list[Write]) -> tuple[bytes, list[int]]:
    """All bytes, and when each token is due."""
    return b"".join(data for _, data, _ in writes), [due for due, _, num_tokens in writes if num_tokens]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"chat": False},
        {"tokens": 3},
        {"finish": "separate"},
        {"role": "arrival"},
        {"role": "off", "done": False},
        {"answer": "refusal"},
        {"line_end": "crlf", "space": False},
        {"ttft_distribution": "lognormal", "tail_share": 0.5, "index": 7},
        {"gap": "0", "gap_distribution": "exponential"},
        {"faults": {"stream_error": 1}, "fault_after": 5},
        {"faults": {"cut": 1}, "fault_after": 5},
    ],
)
def test_a_stream_in_runs_is_the_same_stream(fields: dict[str, Any]) -> None:
    said = content(**fields)
    assert can_run(said)
    in_runs = list(stream_in_runs(said, 100))
    assert sum(isinstance(step, Run) for step in in_runs) == 1
    assert what_is_sent(carried_out(iter(in_runs))) == what_is_sent(
        carried_out(stream_writes(said, 100, CHUNKED))
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"tokens": 2},
        {"tokens_per_chunk": 2},
        {"gap_distribution": "exponential"},
        {"coalesce": 2},
        {"split": 2},
        {"keepalive": "1ms"},
        {"reasoning_tokens": 2},
        {"answer": "tool_call"},
        {"usage": "continuous"},
        {"ids": True},
        {"faults": {"cut": 1}, "fault_after": 2},
    ],
)
def test_events_that_differ_in_more_are_no_run(fields: dict[str, Any]) -> None:
    assert not can_run(content(**fields))
