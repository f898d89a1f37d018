"""Parts of a run put together give what the whole gives, bit for bit."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.client_health import healthy

from harness.record import CANCELLED, Outcome, Record, TokenSource
from harness.sla.grammar import rules_from
from harness.summary import Summarizer, SummaryState
from harness.summary.error_table import ErrorTable
from harness.summary.request_rows import RequestRows
from harness.telemetry.client_side import ClientSide
from harness.terms import Terms
from harness.warm_up import WarmUp, WarmUpState
from harness.window import Window
from reports.hdr_errors import DecodeError
from reports.histogram import Histogram
from scenarios.token_deadlines import TokenDeadlines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import MakeRecord

MS, S = 10**6, 10**9
RULES = rules_from(
    {
        "ttft": ["p99 <= 500ms", "p95 < 400ms"],
        "e2e": ["p90 < 2s"],
        "itl": ["p99 < 30ms", "p90 < 10ms", "mean < 1s"],
        "error_rate": ["< 5%"],
        "attainment": [">= 50%"],
    }
)
HEALTH = healthy()


def random_records(seed: int, num: int, seconds: float) -> list[Record]:
    """Requests of every sort, in the order of their ends."""
    chance = random.Random(seed)
    records = [_record(index, chance, seconds) for index in range(num)]
    return sorted(records, key=lambda record: record.done_ns)


def _record(index: int, chance: random.Random, seconds: float) -> Record:
    due_ns = chance.randrange(max(1, round(seconds * S)))
    sent_ns = None if chance.random() < 0.02 else due_ns + chance.randrange(5 * MS)
    outcome = chance.choices(list(Outcome), [20, *[1] * (len(Outcome) - 1)])[0]
    num_chunks = 0 if outcome is Outcome.OK_EMPTY else chance.choice((0, 1, 2, 7, 40))
    at_ns, chunk_ns = due_ns + 5 * MS, []
    for _ in range(num_chunks):
        at_ns += chance.choice((0, MS, 20 * MS, 3 * S))
        chunk_ns.append(at_ns)
    num_tokens = num_chunks + chance.choice((0, 0, 3)) or None
    has_text = index < 4 and outcome is Outcome.OK
    return Record(
        index=index,
        due_ns=due_ns,
        sent_ns=sent_ns,
        headers_ns=sent_ns,
        chunk_ns=chunk_ns,
        chunk_tokens=[1] * num_chunks,
        chunk_tokens_exact=chance.random() < 0.5,
        answer_index=0 if chunk_ns else None,
        coalesced_chunks=chance.randrange(num_chunks + 1),
        done_ns=at_ns + chance.randrange(MS),
        outcome=outcome,
        detail=chance.choice(("", "500", CANCELLED)),
        message=chance.choice(("", f"failure {index}")),
        status=200,
        prompt_tokens=chance.choice((None, 8)),
        output_tokens=num_tokens,
        token_source=chance.choice(list(TokenSource)) if num_tokens else None,
        usage_tokens=num_tokens,
        connect_ns=chance.choice((0, MS)),
        streamed=num_chunks > 0,
        cached_tokens=chance.choice((None, 0, 5)),
        reasoning_tokens=chance.choice((None, 1)),
        prompt_length=chance.choice((None, 7, 8)),
        request_id=f"run-{index}",
        **_turn(index, chance),
        prompt=f"prompt {index}" if has_text else None,
        answer="answer" if has_text else None,
    )


def _turn(index: int, chance: random.Random) -> dict[str, int]:
    """Conversations of three turns, some of them broken off, and requests by themselves."""
    if chance.random() < 0.3:
        return {}
    return {"conversation": index // 3, "turn": index % 3 + 1, "num_turns": chance.choice((3, 4))}


def _summarizer(records: Sequence[Record], loop: str) -> Summarizer:
    window = Window(start_ns=S // 2, end_ns=40 * S)
    deadlines = TokenDeadlines(ttft="400ms", tpot="15ms")
    made = Summarizer(window, loop, rules=RULES, terms=Terms(deadlines, S))
    for record in records:
        made.add(record)
    return made


def outputs(summarizer: Summarizer) -> tuple[bytes, dict[str, Any]]:
    """All that a report shows, as bytes, and all that a verdict is made from."""
    snapshot = summarizer.snapshot(health=HEALTH)
    shown = msgspec.json.encode(summarizer.summary(snapshot))
    judged = {name: getattr(snapshot, name) for name in snapshot.__dataclass_fields__}
    judged["histograms"] = {series: each.pack() for series, each in snapshot.histograms.items()}
    judged["counts"] = {name: each.tolist() for name, each in snapshot.counts.items()}
    judged["due_order"] = {name: each.tobytes() for name, each in snapshot.due_order.columns.items()}
    judged["lifetimes"] = [each.tolist() for each in summarizer.lifetimes()]
    return shown, judged


@pytest.mark.parametrize("loop", ["open", "closed"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6),
    num=st.integers(0, 120),
    seconds=st.sampled_from([0.5, 5.0, 100.0, 5_000.0]),
    num_parts=st.integers(1, 8),
)
def test_any_parts_in_any_order_are_the_whole(
    loop: str, seed: int, num: int, seconds: float, num_parts: int
) -> None:
    """The states travel as bytes, as between processes or machines."""
    records, chance = random_records(seed, num, seconds), random.Random(seed)
    parts: list[list[Record]] = [[] for _ in range(num_parts)]
    for record in records:
        chance.choice(parts).append(record)
    states = [msgspec.msgpack.encode(_summarizer(part, loop).state()) for part in parts]
    chance.shuffle(states)
    merged = _summarizer((), loop)
    for state in states:
        merged.merge(msgspec.msgpack.decode(state, type=SummaryState))
    assert outputs(merged) == outputs(_summarizer(records, loop))


def test_eight_workers_give_the_histograms_of_one() -> None:
    records = random_records(7, 4_000, 60.0)
    merged = _summarizer((), "open")
    for worker in range(8):
        merged.merge(_summarizer(records[worker::8], "open").state())
    assert outputs(merged) == outputs(_summarizer(records, "open"))


def test_merging_may_go_on_with_records() -> None:
    """What was merged is like what was added."""
    records = random_records(3, 90, 200.0)
    merged = _summarizer(records[:30], "open")
    merged.merge(_summarizer(records[30:60], "open").state())
    for record in records[60:]:
        merged.add(record)
    assert outputs(merged) == outputs(_summarizer(records, "open"))


def test_a_state_is_not_changed_by_what_comes_after(make_record: MakeRecord) -> None:
    summarizer = _summarizer([make_record(due=1_000)], "open")
    state = summarizer.state()
    before = msgspec.msgpack.encode(state)
    summarizer.add(make_record(1, due=1_000, outcome="reset"))
    summarizer.merge(state)
    assert msgspec.msgpack.encode(state) == before


def test_warm_up_of_parts_ends_where_that_of_the_whole_does() -> None:
    records = random_records(11, 600, 30.0)
    for window in (Window(auto_warmup=True), Window(warmup_requests=50)):
        whole, merged = WarmUp(window), WarmUp(window)
        for record in records:
            whole.add(record)
        for part in (records[1::2], records[::2]):
            one = WarmUp(window)
            for record in part:
                one.add(record)
            merged.merge(msgspec.msgpack.decode(msgspec.msgpack.encode(one.state()), type=WarmUpState))
        assert merged.window() == whole.window()
        assert (merged.note, merged.cause) == (whole.note, whole.cause)


def test_first_due_at_zero_is_a_time(make_record: MakeRecord) -> None:
    early, late = WarmUp(Window(warmup_requests=1)), WarmUp(Window(warmup_requests=1))
    early.add(make_record(0, due=0))
    early.add(make_record(1, due=0))
    late.add(make_record(2, due=5))
    early.merge(late.state())
    assert early.window().start_ns == 0


def test_what_the_client_saw_adds_up() -> None:
    records = random_records(5, 200, 5.0)
    whole, merged, other = ClientSide(), ClientSide(), ClientSide()
    for place, record in enumerate(records):
        whole.add(record)
        (merged if place % 3 else other).add(record)
    merged.merge(other.state())
    assert merged.state() == whole.state()


def test_too_many_rows_are_the_same_rows(make_record: MakeRecord) -> None:
    records = [make_record(i, outcome="reset" if i % 7 == 0 else "ok") for i in range(500)]
    whole, merged = RequestRows("open", max_rows=60), RequestRows("open", max_rows=60)
    for record in records:
        whole.add(record, measured=True)
    for start in (2, 0, 1):
        part = RequestRows("open", max_rows=60)
        for record in records[start::3]:
            part.add(record, measured=True)
        merged.merge(part.state())
    assert merged.rows() == whole.rows()
    assert len(whole.rows()) == 60


def test_too_many_classes_of_errors_are_the_same_classes(make_record: MakeRecord) -> None:
    """A thousand by name, the rest as one; whichever part saw which first."""
    records = [
        make_record(i, outcome="http_error", detail=f"{i * 7919 % 1_500:04}", message=f"m{i}")
        for i in range(3_000)
    ]
    whole, merged = ErrorTable(), ErrorTable()
    for record in records:
        whole.add(record)
    for start in (1, 0):
        part = ErrorTable()
        for record in reversed(records[start::2]):
            part.add(record)
        merged.merge(part.state())
    assert merged.classes() == whole.classes()
    assert len(whole.classes()) == 1_001
    assert whole.classes()[0].detail == "other"
    assert sum(each.count for each in whole.classes()) == 3_000


@given(st.lists(st.integers(0, 3_600_000_000), max_size=300), st.integers(1, 10**15))
def test_a_packed_histogram_is_exact(values: list[int], count: int) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value, count)
    twin = Histogram.unpack(histogram.pack())
    assert (twin.n, twin.counts.tolist()) == (histogram.n, histogram.counts.tolist())
    if values:
        assert (twin.minimum, twin.maximum, twin.mean) == (min(values), max(values), histogram.mean)


@pytest.mark.parametrize("data", [b"", b"\x93\x01\x02", Histogram(1, 100).pack()[:-3], b"\xff" * 40])
def test_a_damaged_histogram_is_a_typed_error(data: bytes) -> None:
    with pytest.raises(DecodeError, match="damaged"):
        Histogram.unpack(data)
