"""Tokens in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.metrics import Missing, metric
from harness.record import Outcome, Record
from harness.recorder import Recorder, step
from harness.series import Series
from harness.sla.errors import RuleError
from harness.sla.grammar import rules_from
from harness.sla.judge import judge
from harness.sla.keywords import rules_of_keywords
from harness.sla.preconditions import demand_judgeable
from harness.summary import Summarizer
from harness.terms import Terms
from harness.window import Window
from reports.result import Verdict
from scenarios.errors import ScenarioError
from scenarios.scenario import scenario_from
from scenarios.token_deadlines import TokenDeadlines

if TYPE_CHECKING:
    from tests.conftest import MakeRecord

MS = 1_000_000
TERMS = Terms(TokenDeadlines(ttft="100ms", tpot="10ms"))
NAME = "token_deadline_attainment"


def share(record: Record, start_ns: int = 0) -> float | Missing:
    found = metric(NAME).under(TERMS).values(record, start_ns)
    return found if isinstance(found, Missing) else found[0]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ((100, 110, 120, 130), 1.0),
        ((101, 110, 120, 130), 0.75),
        ((100, 111, 121, 131), 0.25),
        ((50, 110, 119, 131), 0.75),
        ((500, 500, 500, 500), 0.0),
    ],
)
def test_each_token_has_a_deadline_of_its_own(
    make_record: MakeRecord, chunks: tuple[float, ...], expected: float
) -> None:
    assert share(make_record(chunks=chunks)) == expected


def test_a_stream_that_catches_up_is_in_time_again(make_record: MakeRecord) -> None:
    """Tokens 1 to 4 come together at 140 ms, when token 4 is due: three are late, and none after them."""
    assert share(make_record(chunks=(100, 140, 140, 140, 140, 150))) == pytest.approx(0.5)


def test_tokens_of_a_chunk_came_when_it_came(make_record: MakeRecord) -> None:
    """Five tokens in two chunks: of the second, tokens 2 and 3 are late at 135 ms and token 4 is not."""
    record = make_record(chunks=(100, 135), chunk_tokens=[2, 3], chunk_tokens_exact=True, output_tokens=5)
    assert share(record) == pytest.approx(0.6)


def test_it_counts_from_the_due_time_or_the_sending(make_record: MakeRecord) -> None:
    record = make_record(due=1_000, sent=1_005, chunks=(104, 114))
    assert share(record, record.due_ns) == 0
    assert share(record, record.sent_ns or 0) == 1


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 4)), min_size=1, max_size=20).map(
        lambda chunks: sorted(chunks)
    )
)
def test_equals_the_definition_token_by_token(chunks: list[tuple[int, int]]) -> None:
    arrivals = [at for at, tokens in chunks for _ in range(tokens)]
    in_time = sum(at <= 100 + 10 * i for i, at in enumerate(arrivals))
    record = Record(
        index=0,
        due_ns=0,
        sent_ns=0,
        chunk_ns=[at * MS for at, _ in chunks],
        chunk_tokens=[tokens for _, tokens in chunks],
        chunk_tokens_exact=True,
        output_tokens=len(arrivals),
        done_ns=10**9,
        outcome=Outcome.OK,
    )
    assert share(record) == pytest.approx(in_time / len(arrivals))


def test_without_deadlines_there_is_no_series(make_record: MakeRecord) -> None:
    assert isinstance(metric(NAME).values(make_record(), 0), Missing)
    assert Series(NAME, "response") not in Recorder(Window(), "open").columns()
    assert Series(NAME, "service") in Recorder(Window(), "open", TERMS).columns()


def test_only_all_tokens_are_100_per_cent(make_record: MakeRecord) -> None:
    """One late token of 10,000 is 99.95 % in a histogram, and not 100 %."""
    recorder = Recorder(Window(), "closed", TERMS)
    late = make_record(chunks=(101, *(102,) * 9_999))
    recorder.add(late)
    recorder.add(make_record())
    histogram = recorder.histogram(NAME)
    assert histogram.minimum * step("share") == pytest.approx(0.9995)
    assert histogram.maximum * step("share") == 1.0


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("p5 >= 75%", Verdict.PASS),
        ("p5 > 75%", Verdict.FAIL),
        ("min >= 75%", Verdict.PASS),
        ("mean >= 80%", Verdict.FAIL),
        ("p50 < 90%", Verdict.PASS),
    ],
)
def test_objectives_of_it(make_record: MakeRecord, condition: str, verdict: Verdict) -> None:
    """Every request has 75 % of its tokens in time."""
    rules = rules_from({NAME: [condition]})
    summarizer = Summarizer(Window(), "open", rules=rules, terms=TERMS)
    for i in range(100):
        summarizer.add(make_record(i, due=10 * i, chunks=(101, 110, 120, 130)))
    (result,) = judge(rules, summarizer.snapshot()).rules
    assert (result.verdict, result.observed, result.unit) == (verdict, 0.75, "share")


def test_it_makes_goodput(make_record: MakeRecord) -> None:
    """Of 100 requests 60 have 9 of 10 tokens in time, which is asked of each."""
    rules = rules_from({NAME: ["p50 >= 90%"], "attainment": [">= 10%"]})
    summarizer = Summarizer(Window(), "open", rules=rules, terms=TERMS)
    nine, eight = (101, *range(110, 200, 10)), (101, 111, *range(120, 200, 10))
    for i in range(100):
        summarizer.add(make_record(i, due=10 * i, chunks=nine if i < 60 else eight))
    assert summarizer.snapshot().rates["attainment"].value == 0.6


def test_an_objective_of_it_needs_deadlines() -> None:
    rules = rules_from({NAME: ["p5 >= 90%"]})
    with pytest.raises(RuleError, match="give token_deadlines"):
        demand_judgeable(rules, loop="open")
    demand_judgeable(rules, loop="open", deadlines=True)
    with pytest.raises(RuleError, match="'p5 >= 90%'"):
        rules_from({NAME: ["nonsense"]})


def test_more_of_it_is_better() -> None:
    assert [str(rule) for rule in rules_of_keywords({f"{NAME}_p5": "90%"})] == [f"{NAME} p5 >= 90%"]


def test_scenarios_state_deadlines() -> None:
    base = {"name": "t", "load": {"arrivals": "poisson", "rate": 1, "requests": 9}}
    text = {**base, "prompts": {"source": "text", "text": "Hi"}}
    scenario = scenario_from({**text, "token_deadlines": {"ttft": "500ms", "tpot": "100ms"}})
    assert scenario.token_deadlines == TokenDeadlines(ttft="500ms", tpot="100ms")
    assert scenario_from(scenario.to_mapping()) == scenario
    with pytest.raises(ScenarioError, match="longer than 0"):
        scenario_from({**text, "token_deadlines": {"ttft": "0", "tpot": "100ms"}})
