"""Values of each metric on records worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import metrics
from harness.metrics import Missing
from harness.record import Outcome, Record, TokenSource

if TYPE_CHECKING:
    from tests.conftest import MakeRecord

MS = 1_000_000


def _values(name: str, record: Record, start_ns: int = 0) -> list[float]:
    values = metrics.metric(name).values(record, start_ns)
    assert not isinstance(values, Missing), values
    return [float(each) for each in values]


def _reason(name: str, record: Record) -> str:
    values = metrics.metric(name).values(record, record.due_ns)
    assert isinstance(values, Missing)
    return values


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ttft", [100 * MS]),
        ("ttfa", [110 * MS]),
        ("chunk_gap", [10 * MS, 20 * MS, 30 * MS]),
        ("itl", [10 * MS, 20 * MS, 30 * MS]),
        ("tpot", [20 * MS]),
        ("e2e", [160 * MS]),
        ("ntpot", [40 * MS]),
        ("schedule_lag", [2 * MS]),
        ("close_lag", [5 * MS]),
        ("stall_max", [30 * MS]),
        ("output_tokens", [4]),
        ("prompt_tokens", [8]),
        ("output_rate_per_user", [50]),
    ],
)
def test_value(make_record: MakeRecord, name: str, expected: list[float]) -> None:
    record = make_record(sent=2, chunks=(100, 110, 130, 160), answer_index=1, done_ns=165 * MS)
    assert _values(name, record) == expected


def test_every_metric_has_a_value_tested() -> None:
    """A new file needs a line above; ``token_deadline_attainment`` and ``stalls`` have tests of their own."""
    assert len(metrics.names()) == 15


@pytest.mark.parametrize("name", ["ttft", "e2e", "ntpot"])
def test_basis_moves_the_start(make_record: MakeRecord, name: str) -> None:
    record = make_record(due=0, sent=30)
    response, service = (_values(name, record, start)[0] for start in (record.due_ns, record.sent_ns or 0))
    tokens = 4 if name == "ntpot" else 1
    assert response - service == pytest.approx(30 * MS / tokens)


def test_A1_01_role_delta_adds_neither_token_nor_gap(make_record: MakeRecord) -> None:
    """First text at 200 ms, nine more every 20 ms; the role delta at 5 ms is no chunk."""
    record = make_record(chunks=tuple(200 + 20 * i for i in range(10)))
    assert _values("ttft", record) == [200 * MS]
    assert _values("itl", record) == [20 * MS] * 9


def test_A1_03_thinking_to_the_limit_has_ttft_and_no_ttfa(make_record: MakeRecord) -> None:
    record = make_record(answer_index=None, reasoning_tokens=4, finish_reason="length")
    assert _values("ttft", record) == [100 * MS]
    assert "no token of the answer" in _reason("ttfa", record)


def test_A2_01_frames_of_five_tokens(make_record: MakeRecord) -> None:
    """100 tokens in 20 frames from 100 ms on, 50 ms apart: tpot 950/99 ms, 50 ms is the gap of chunks."""
    record = make_record(chunks=tuple(100 + 50 * i for i in range(20)), output_tokens=100)
    assert _values("tpot", record)[0] == pytest.approx(950 / 99 * MS)
    assert _values("chunk_gap", record) == [50 * MS] * 19


def test_A2_01_exact_counts_share_out_the_gap(make_record: MakeRecord) -> None:
    record = make_record(chunks=(100, 150), chunk_tokens=[5, 5], chunk_tokens_exact=True, output_tokens=10)
    assert _values("itl", record) == [10 * MS] * 5
    assert _values("tpot", record) == [10 * MS]


def test_A3_10_gaps_of_one_read_are_kept(make_record: MakeRecord) -> None:
    record = make_record(chunks=(100, 100, 100, 130), coalesced_chunks=2)
    assert _values("chunk_gap", record) == [0, 0, 30 * MS]


def test_A4_05_empty_answer_has_no_ttft(make_record: MakeRecord) -> None:
    record = make_record(chunks=(), outcome="ok_empty")
    assert _reason("ttft", record) == "no token came"
    assert _values("e2e", record) == [50 * MS]


def test_A5_01_no_tokens_divide_by_nothing(make_record: MakeRecord) -> None:
    record = make_record(chunks=(), outcome="ok_empty", output_tokens=0)
    for name in ("tpot", "ntpot", "output_rate_per_user"):
        assert _reason(name, record)


@pytest.mark.parametrize("name", ["tpot", "itl", "stall_max", "output_rate_per_user"])
def test_one_token_has_no_time_between_tokens(make_record: MakeRecord, name: str) -> None:
    assert _reason(name, make_record(chunks=(100,)))


def test_all_tokens_in_one_chunk_have_no_tpot(make_record: MakeRecord) -> None:
    assert "fewer than two chunks" in _reason("tpot", make_record(chunks=(100,), output_tokens=50))


def test_tokens_of_one_read_have_no_rate(make_record: MakeRecord) -> None:
    """Never an infinite number."""
    assert "one socket read" in _reason("output_rate_per_user", make_record(chunks=(100, 100)))


def test_A5_05_answer_in_one_piece_says_so(make_record: MakeRecord) -> None:
    record = make_record(chunks=(), streamed=False, output_tokens=12)
    missing = [each.name for each in metrics.every_metric() if each.needs_stream]
    assert {"ttft", "itl", "tpot", "stall_max"} <= set(missing)
    assert all("in one piece" in _reason(name, record) for name in missing)
    assert _values("e2e", record) == [50 * MS]
    assert _values("output_tokens", record) == [12]


def test_sent_a_hair_early_is_on_time(make_record: MakeRecord) -> None:
    assert _values("schedule_lag", make_record(due=10, sent=9.999)) == [0]


@st.composite
def _streams(draw: st.DrawFn) -> Record:
    due_ns = draw(st.integers(0, 10**13))
    sent_ns = due_ns + draw(st.integers(0, 10**10))
    gaps = draw(st.lists(st.integers(0, 10**10), min_size=2, max_size=40))
    chunk_ns = [int(each) for each in sent_ns + np.cumsum(gaps)]
    return Record(
        index=0,
        due_ns=due_ns,
        sent_ns=sent_ns,
        chunk_ns=chunk_ns,
        chunk_tokens=[1] * len(chunk_ns),
        answer_index=0,
        done_ns=chunk_ns[-1] + draw(st.integers(0, 10**9)),
        outcome=Outcome.OK,
        output_tokens=draw(st.integers(len(chunk_ns), 3 * len(chunk_ns))),
        token_source=TokenSource.USAGE,
    )


@given(_streams())
def test_e2e_is_ttft_plus_tpot_for_each_further_token(record: Record) -> None:
    """On both bases, for any stream whose first chunk holds one token."""
    for start_ns in (record.due_ns, record.sent_ns or 0):
        ttft, tpot, e2e = (_values(name, record, start_ns)[0] for name in ("ttft", "tpot", "e2e"))
        assert e2e == pytest.approx(ttft + tpot * ((record.output_tokens or 0) - 1), rel=1e-9, abs=1)


@given(_streams(), st.data())
def test_itl_adds_up_to_the_time_between_first_and_last_token(record: Record, data: st.DataObject) -> None:
    """However many tokens the chunks hold."""
    counts = st.lists(st.integers(1, 7), min_size=len(record.chunk_ns), max_size=len(record.chunk_ns))
    record.chunk_tokens = data.draw(counts)
    itl = _values("itl", record)
    assert sum(itl) == pytest.approx(record.chunk_ns[-1] - record.chunk_ns[0], rel=1e-9, abs=1)
    assert len(itl) == sum(record.chunk_tokens[1:])


@pytest.mark.parametrize(("wrong", "meant"), [("tttf", "ttft"), ("TPOT", "tpot"), ("chunk-gap", "chunk_gap")])
def test_unknown_metric_suggests_the_right_one(wrong: str, meant: str) -> None:
    with pytest.raises(LookupError, match=f"did you mean '{meant}'"):
        metrics.metric(wrong)
