"""Writes: what is sent and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_server.timetable.content import Ask, Content
from reference_server.timetable.http_response import UNTIL_CLOSE
from reference_server.timetable.plan import Plan
from reference_server.timetable.script import make_script
from reference_server.timetable.words import Vocabulary
from reference_server.timetable.writes import Write, coalesced, split, stream_writes, with_comments

MS = 1_000_000
VOCABULARY = Vocabulary(0)
PLAIN: list[Write] = [(10, b"aaaa", 1), (20, b"bbbb", 1), (30, b"cccc", 1), (30, b"end", 0)]


def writes(*, chat: bool = True, asks_usage: bool = False, ids: bool = False, **fields: Any) -> list[Write]:
    script = make_script({"tokens": 4, "ttft": "5ms", "gap": "1ms", **fields})
    plan = Plan(script, 0, 0, None)
    ask = Ask(
        chat=chat,
        model="m",
        num_prompt_tokens=3,
        usage=asks_usage,
        running_usage=script.usage == "continuous",
        token_ids=ids,
    )
    return list(stream_writes(Content(ask, script, plan, VOCABULARY, 1), 0, UNTIL_CLOSE))


def events(all_writes: list[Write]) -> list[Any]:
    lines = b"".join(data for _, data, _ in all_writes).splitlines()
    found = [line[5:].strip() for line in lines if line.startswith(b"data:")]
    return ["[DONE]" if each == b"[DONE]" else json.loads(each) for each in found]


def deltas(all_writes: list[Write]) -> list[dict[str, Any]]:
    return [each["choices"][0]["delta"] for each in events(all_writes)[:-1] if each["choices"]]


def test_tokens_are_due_as_scripted_and_counted_once() -> None:
    assert [(due, n) for due, _, n in writes()] == [
        (5 * MS, 1),
        (6 * MS, 1),
        (7 * MS, 1),
        (8 * MS, 1),
        (8 * MS, 0),
    ]


def test_role_rides_with_the_first_token_or_comes_before_it_or_not_at_all() -> None:
    assert deltas(writes())[0] == {"role": "assistant", "content": ""}
    early = writes(role="arrival", role_content="null")
    assert early[0][0] == 0
    assert early[0][2] == 0
    assert deltas(early)[0] == {"role": "assistant", "content": None}
    assert all("role" not in delta for delta in deltas(writes(role="off")))


def test_finish_reason_rides_on_the_last_token_or_alone() -> None:
    reasons = [each["choices"][0]["finish_reason"] for each in events(writes())[:-1]]
    assert reasons == [None] * 4 + ["stop"]
    alone = events(writes(finish="separate"))[-2]["choices"][0]
    assert (alone["delta"], alone["finish_reason"]) == ({}, "stop")


def test_A2_05_reasoning_is_part_of_the_tokens() -> None:
    all_writes = writes(reasoning_tokens=3, asks_usage=True)
    assert sum("reasoning_content" in delta for delta in deltas(all_writes)) == 3
    usage = events(all_writes)[-2]["usage"]
    assert (usage["completion_tokens"], usage["completion_tokens_details"]) == (4, {"reasoning_tokens": 3})


def test_A2_03_usage_event_has_no_choices() -> None:
    usage = events(writes(asks_usage=True))[-2]
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def test_running_usage_is_in_every_event() -> None:
    running = [each["usage"]["completion_tokens"] for each in events(writes(usage="continuous"))[:-1]]
    assert running == [0, 1, 2, 3, 4]


def test_A2_01_several_tokens_in_one_event() -> None:
    all_writes = writes(tokens=10, tokens_per_chunk=4, ids=True)
    assert [n for _, _, n in all_writes] == [4, 4, 2, 0]
    ids = [each["choices"][0]["token_ids"] for each in events(all_writes)[1:-1]]
    assert [len(each) for each in ids] == [4, 4, 2]
    text = "".join(delta["content"] for delta in deltas(all_writes))
    assert len(text.split()) == 10


@pytest.mark.parametrize("per_chunk", [1, 2, 4])
def test_A1_08_tool_call_has_a_name_then_arguments_that_are_json(per_chunk: int) -> None:
    calls = [
        d["tool_calls"][0]
        for d in deltas(writes(answer="tool_call", tokens_per_chunk=per_chunk))
        if "tool_calls" in d
    ]
    assert calls[0]["function"]["name"] == "recite"
    assert all("name" not in call["function"] for call in calls[1:])
    arguments = json.loads("".join(call["function"]["arguments"] for call in calls))
    assert len(arguments["text"].split()) == 3


def test_A1_08_refusal_bears_the_text() -> None:
    assert sum("refusal" in delta for delta in deltas(writes(answer="refusal"))) == 4


def test_A4_05_no_token_at_all() -> None:
    (role, finish, done) = events(writes(tokens=0))
    assert role["choices"][0]["delta"]["role"] == "assistant"
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert done == "[DONE]"


def test_completions_have_text_and_no_role() -> None:
    first = events(writes(chat=False))[0]
    assert first["object"] == "text_completion"
    assert first["choices"][0]["text"].isalpha()


def test_no_done() -> None:
    assert "[DONE]" not in events(writes(done=False))


@pytest.mark.parametrize(("line_end", "end"), [("crlf", b"\r\n\r\n"), ("cr", b"\r\r"), ("lf", b"\n\n")])
def test_A3_05_line_ends(line_end: str, end: bytes) -> None:
    assert all(data.endswith(end) for _, data, _ in writes(line_end=line_end))


def test_A3_06_no_space() -> None:
    data = b"".join(data for _, data, _ in writes(space=False))
    assert b"data: " not in data
    assert b"data:[DONE]" in data


@pytest.mark.parametrize("fault", ["cut", "reset", "stall"])
def test_silent_fault_ends_after_its_tokens(fault: str) -> None:
    all_writes = writes(faults={fault: 1}, fault_after=2)
    assert [n for _, _, n in all_writes] == [1, 1]
    assert b'finish_reason":"' not in b"".join(data for _, data, _ in all_writes)


def test_A4_01_error_event_in_the_stream() -> None:
    *_, error, done = events(writes(faults={"stream_error": 1}, fault_after=2))
    assert error["error"]["code"] == 500
    assert done == "[DONE]"


def test_comments_are_sent_between_the_tokens() -> None:
    assert [due for due, _, _ in with_comments(iter(PLAIN), b":", 0, 8)] == [8, 10, 16, 20, 24, 30, 30]


def test_split_completes_the_token_with_the_last_piece() -> None:
    assert list(split(iter(PLAIN[:1]), 3, 2)) == [(10, b"a", 0), (12, b"a", 0), (14, b"aa", 1)]


def test_coalesced_events_are_sent_when_the_last_is_due() -> None:
    assert list(coalesced(iter(PLAIN), 2)) == [(20, b"aaaabbbb", 2), (30, b"cccc", 1), (30, b"end", 0)]


def test_role_alone_is_not_held_back() -> None:
    assert list(coalesced(iter([(0, b"role", 0), *PLAIN[:2]]), 2)) == [(0, b"role", 0), (20, b"aaaabbbb", 2)]
