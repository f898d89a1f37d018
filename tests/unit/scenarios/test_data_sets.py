"""Prompts from data sets in other people's forms, and prompts that begin alike."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scenarios.errors import ScenarioError
from scenarios.request import Arrival, Message
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from scenarios.schedule import Schedule

DATA = Path(__file__).parents[2] / "data" / "scenarios"


def _schedule(folder: Path = DATA, **prompts: Any) -> Schedule:
    load = {"arrivals": "closed", "concurrency": 1, "requests": 100}
    return scenario_from({"name": "test", "load": load, "prompts": prompts}, folder=folder).schedule()


def _write(folder: Path, value: object) -> None:
    (folder / "data.json").write_text(json.dumps(value), encoding="utf-8")


def _limits(arrivals: list[Arrival]) -> list[int | None]:
    return [arrival.sampling.get("max_tokens") for arrival in arrivals]


def test_openai_batch_gives_messages_and_limits() -> None:
    arrivals = list(_schedule(source="openai_batch", file="batch.jsonl", repeat=False).arrivals)
    assert [arrival.prompt.messages for arrival in arrivals] == [
        (Message("user", "Name a river."),),
        (Message("user", "Name a lake."),),
    ]
    assert _limits(arrivals) == [20, 30]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, r"data\.json:1: needs either 'prompt' or 'messages'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "content of type 'image_url'"),
        ({"messages": [{"content": "Hi"}]}, r"missing required field `role` - at `\$\.body\.messages\[0\]`"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "a", "max_tokens": -1}, "max_tokens must be at least 1, not -1"),
    ],
)
def test_openai_batch_fault_names_the_line(tmp_path: Path, body: dict[str, Any], message: str) -> None:
    _write(tmp_path, {"custom_id": "1", "body": body})
    with pytest.raises(ScenarioError, match=message):
        _schedule(tmp_path, source="openai_batch", file="data.json")


def test_sharegpt_gives_first_questions() -> None:
    schedule = _schedule(source="sharegpt", file="sharegpt.json", repeat=False)
    arrivals = list(schedule.arrivals)
    assert [arrival.prompt.text for arrival in arrivals] == ["What is a cache?", "And a queue?"]
    assert any("number of words of its reply" in note for note in schedule.notes)


def test_A10_01_sharegpt_reply_lengths_are_the_limits(tmp_path: Path) -> None:
    """Not one cap for all."""
    question = {"from": "human", "value": "Why?"}
    replies = [{"from": "gpt", "value": " ".join(["word"] * count)} for count in (12, 300)]
    _write(tmp_path, [{"conversations": [question, reply]} for reply in replies])
    schedule = _schedule(tmp_path, source="sharegpt", file="data.json", repeat=False)
    assert _limits(list(schedule.arrivals)) == [12, 300]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "holds no prompt"),
        ({}, r"data\.json: Expected `array`, got `object`"),
        ([{"conversations": [{"value": "Why?"}]}], r"missing required field `from` - at `\$\[0\]\.conv"),
    ],
)
def test_sharegpt_fault_names_the_place(tmp_path: Path, value: object, message: str) -> None:
    _write(tmp_path, value)
    with pytest.raises(ScenarioError, match=message):
        _schedule(tmp_path, source="sharegpt", file="data.json")


def _words(count: int, **keys: Any) -> list[list[str]]:
    schedule = _schedule(source="shared_prefix", **keys)
    return [(a.prompt.text or "").split() for a in itertools.islice(schedule.arrivals, count)]


def test_shared_prefix_is_shared_by_all_and_nothing_else_is() -> None:
    texts = _words(50, prefix_length=40, length=10)
    assert {len(text) for text in texts} == {50}
    assert len({tuple(text[:40]) for text in texts}) == 1
    assert len({text[40] for text in texts}) == 50


def test_shared_prefixes_are_as_many_and_as_frequent_as_stated() -> None:
    texts = _words(100, prefix_length=40, length=10, num_prefixes=3, share="50%")
    prefixes = [tuple(text[:40]) for text in texts if len(text) == 50]
    assert len(set(prefixes)) == 3
    assert 35 <= len(prefixes) <= 65
    assert {len(text) for text in texts} == {10, 50}


def _batch(folder: Path, *bodies: dict[str, Any], url: str = "/v1/chat/completions", **keys: Any) -> Schedule:
    asked = {"model": "gpt", "messages": [{"role": "user", "content": "Hi"}]}
    lines = [{"custom_id": "1", "method": "POST", "url": url, "body": asked | body} for body in bodies]
    (folder / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    prompts = {"source": "openai_batch", "file": "b.jsonl", "repeat": False}
    load = {"arrivals": "closed", "concurrency": 1, "requests": 3}
    return scenario_from({"name": "t", "load": load, "prompts": prompts, **keys}, folder=folder).schedule()


def test_openai_batch_sends_the_fields_of_each_body(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f"}}]
    schedule = _batch(
        tmp_path,
        {"temperature": 0.3, "n": 3, "stream": False},
        {"tools": tools, "max_completion_tokens": 9, "user": None},
        {},
    )
    assert [each.sampling for each in schedule.arrivals] == [
        {"temperature": 0.3, "n": 3},
        {"max_tokens": 9, "tools": tools},
        {},
    ]
    assert schedule.notes == (
        "b.jsonl: requests whose model isn't sent, the run's own being asked: 3 of 3",
        "b.jsonl: requests whose stream isn't sent, all being streamed: 1 of 3",
        "n stated by the data set for 1 prompt: sent with each",
        "temperature stated by the data set for 1 prompt: sent with each",
        "tools stated by the data set for 1 prompt: sent with each",
    )


def test_sampling_of_the_scenario_wins_over_that_of_a_batch_and_says_so(tmp_path: Path) -> None:
    sampling = {"temperature": 1.0, "extra_body": {"n": 2}}
    schedule = _batch(tmp_path, {"temperature": 0.3}, {"n": 3, "top_p": 0.5}, sampling=sampling)
    assert [each.sampling for each in schedule.arrivals] == [
        {"temperature": 1.0, "n": 2},
        {"temperature": 1.0, "n": 2, "top_p": 0.5},
    ]
    assert (
        "temperature stated by the data set for 1 prompt: not sent, as sampling states another"
        in schedule.notes
    )
    assert "top_p stated by the data set for 1 prompt: sent with each" in schedule.notes


@pytest.mark.parametrize(
    ("body", "url", "message"),
    [
        ({}, "/v1/embeddings", r"b\.jsonl:1: url '/v1/embeddings'; only /v1/chat/completions and /v1/compl"),
        ({}, "/v1/completions", r"b\.jsonl:1: /v1/completions needs 'prompt' in the body"),
        (
            {"messages": [{"role": "assistant", "content": "", "tool_calls": [{}]}]},
            None,
            "with tool_calls; only",
        ),
        ({"max_tokens": 0}, None, "max_tokens must be at least 1, not 0"),
        ({"max_tokens": 10**30}, None, r"b\.jsonl:1: "),
        ({"top_k": 10**18 * 10}, None, r"b\.jsonl:1: top_k: must be within 64 bits"),
    ],
)
def test_what_a_batch_asks_for_and_nobody_sends_is_refused(
    tmp_path: Path, body: dict[str, Any], url: str | None, message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        _batch(tmp_path, body, url=url or "/v1/chat/completions")


def test_a_batch_has_one_endpoint(tmp_path: Path) -> None:
    lines = [{"url": "/v1/chat/completions", "body": {"messages": [{"role": "user", "content": "Hi"}]}}]
    lines.append({"url": "/v1/completions", "body": {"prompt": "Hi"}})
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"b\.jsonl:2: url '/v1/completions' is not that before"):
        _schedule(tmp_path, source="openai_batch", file="b.jsonl")


def test_a_batch_for_another_endpoint_says_so(tmp_path: Path) -> None:
    schedule = _batch(tmp_path, {"messages": None, "prompt": "Hi"}, url="/v1/completions")
    assert "the prompts were written for the completions endpoint and go to chat" in schedule.notes
    assert not any("written for" in note for note in _batch(tmp_path, {}).notes)


def test_sharegpt_counts_what_it_leaves_out() -> None:
    notes = _schedule(source="sharegpt", file="sharegpt.json", repeat=False).notes
    assert notes[:2] == (
        "sharegpt.json: records left out because they don't begin with a question and its reply: 2 of 4",
        "sharegpt.json: records sent without their system prompt: 1 of 4",
    )


def test_sharegpt_without_a_usable_record_says_why(tmp_path: Path) -> None:
    _write(tmp_path, [{"conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": " "}]}])
    with pytest.raises(
        ScenarioError, match=r"can be sent; data\.json: records .* or reply is empty: 1 of 1$"
    ):
        _schedule(tmp_path, source="sharegpt", file="data.json")


@pytest.mark.parametrize("source", ["sharegpt", "conversation_file"])
def test_halves_of_surrogate_pairs_are_replaced_and_counted(tmp_path: Path, source: str) -> None:
    r"""Not whole pairs, nor an escaped backslash before a ``u``."""
    turns = [{"from": "human", "value": "q \ud83d \U0001f600 \\ud83d"}, {"from": "gpt", "value": "a \udc00"}]
    _write(tmp_path, [{"conversations": turns}])
    schedule = _schedule(tmp_path, source=source, file="data.json", repeat=False)
    (arrival,) = schedule.arrivals
    asked = arrival.prompt.text or (arrival.prompt.messages or ())[0].content
    assert asked == "q \ufffd \U0001f600 \\ud83d"
    assert "data.json: halves of surrogate pairs read as U+FFFD: 2" in schedule.notes


def test_conversation_file_counts_what_it_leaves_out(tmp_path: Path) -> None:
    user, answer = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}
    records = [[answer, user], [user, answer, answer, user], [user, answer, user, answer], [user, answer], []]
    _write(tmp_path, [{"messages": each} for each in records])
    notes = _schedule(tmp_path, source="conversation_file", file="data.json", max_turns=1).notes
    assert notes[:3] == (
        "data.json: conversations cut to max_turns: 1 of 5",
        "data.json: conversations cut where an answer has no question, or a question no user: 1 of 5",
        "data.json: conversations left out because they don't begin with a user: 2 of 5",
    )


def test_jsonl_counts_the_keys_that_it_does_not_read(tmp_path: Path) -> None:
    lines = [{"prompt": "a", "id": 1, "temperature": 0.5}, {"prompt": "b", "id": 2}]
    lines.append({"messages": [{"role": "user", "content": "c", "name": "Ada"}], "max_tokens": 3})
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    notes = _schedule(tmp_path, source="jsonl", file="p.jsonl", repeat=False).notes
    assert notes[:3] == (
        "p.jsonl: lines with the key 'id', which isn't read: 2",
        "p.jsonl: lines with the key 'temperature', which isn't read: 1",
        "p.jsonl: messages sent without their name: 1",
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("jsonl", '{"prompt": "Hi"}\r\n'),
        ("jsonl", '"Hi"\r\n'),
        ("openai_batch", '{"body": {"prompt": "Hi"}}\r\n'),
        (
            "sharegpt",
            '[{"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "a"}]}]',
        ),
        ("conversation_file", '[{"messages": [{"role": "user", "content": "Hi"}]}]'),
        ("conversation_file", '{"messages": [{"role": "user", "content": "Hi"}]}\r\n'),
    ],
)
def test_a_byte_order_mark_is_no_fault(tmp_path: Path, source: str, text: str) -> None:
    (tmp_path / "d").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (arrival,) = _schedule(tmp_path, source=source, file="d", repeat=False).arrivals
    assert (arrival.prompt.text or (arrival.prompt.messages or ())[0].content) == "Hi"


def test_a_line_nested_too_deep_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d").write_text('{"body": {"prompt": "Hi", "x": ' + "[" * 100_000 + "]" * 100_000 + "}}")
    with pytest.raises(ScenarioError, match="d:1: "):
        _schedule(tmp_path, source="openai_batch", file="d")
