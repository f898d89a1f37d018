"""Runs held against each other: verdicts, refusals, exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.comparison.allowance import Allowances
from harness.comparison.baselines import Baselines
from harness.comparison.comparing import compare
from harness.comparison.errors import ComparisonError
from harness.comparison.figure import figures_of
from harness.comparison.sources import side_of
from reports.comparison.document import Change, Comparison
from reports.result import load

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.comparison.conftest import MakeRun


def held(a: object, b: object, *metrics: str, allow: tuple[str, ...] = (), **options: Any) -> Comparison:
    """``b`` against ``a``, folders or texts."""
    store = Baselines()
    return compare(
        side_of(str(a), store),
        side_of(str(b), store),
        figures=figures_of(metrics),
        allowances=Allowances(allow),
        times=400,
        **options,
    )


def test_a_clear_slow_down_is_a_regression(make_run: MakeRun) -> None:
    done = held(
        make_run("a", noise=1), make_run("b", noise=2, ttft_ms=130), "ttft p50", "ttft p95", "tpot p50"
    )
    assert [figure.verdict for figure in done.figures] == [
        Change.REGRESSION,
        Change.REGRESSION,
        Change.NO_DIFFERENCE,
    ]
    first = done.figures[0]
    assert first.change == pytest.approx(1.3, rel=0.05)
    assert first.allowed == 1.05 < (first.low or 0) < (first.change or 0) < (first.high or 0)
    assert (done.verdict, done.exit_code) == (Change.REGRESSION, 1)


def test_what_is_allowed_is_no_regression(make_run: MakeRun) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2, ttft_ms=130)
    done = held(a, b, "ttft p50", "ttft mean", allow=("ttft 60%",))
    assert {figure.verdict for figure in done.figures} == {Change.NO_DIFFERENCE}
    assert done.exit_code == 0


def test_a_clear_speed_up_is_told(make_run: MakeRun) -> None:
    done = held(make_run("a", noise=1, ttft_ms=130), make_run("b", noise=2), "ttft p50")
    assert (done.verdict, done.exit_code) == (Change.IMPROVED, 0)


def test_what_can_t_be_told_says_how_many_more(make_run: MakeRun) -> None:
    done = held(make_run("a", noise=1, num=60), make_run("b", noise=2, num=60, ttft_ms=105), "ttft p50")
    assert (done.verdict, done.exit_code) == (Change.UNDECIDED, 3)
    assert "more requests on each side would decide" in done.figures[0].message


def test_a_percentile_of_a_handful_has_no_interval(make_run: MakeRun) -> None:
    """As B2-05: p99 of 300 is the third worst sample and says nothing of the next run."""
    done = held(make_run("a", noise=1), make_run("b", noise=2), "ttft p99")
    assert done.figures[0].low is None
    assert "1000 would leave 10 beyond p99" in done.figures[0].message


def test_values_are_those_of_the_report(make_run: MakeRun) -> None:
    """B1-05: one frozen number, whichever output shows it."""
    a, b = make_run("a", noise=1), make_run("b", noise=2)
    done = held(a, b)
    result = load(a / "result.json")
    shown = {figure.name: figure.a for figure in done.figures}
    ttft = result.metric("ttft")
    assert ttft is not None
    assert shown["ttft p95"] == next(each.value for each in ttft.percentiles if each.p == 95)
    assert shown["ttft mean"] == pytest.approx(ttft.mean)
    rate = result.rate("output_token_rate")
    assert rate is not None
    assert shown["output_token_rate"] == rate.value


def test_several_runs_are_put_together_and_not_averaged(make_run: MakeRun) -> None:
    """As B2-03: percentiles of all values of a side."""
    runs = [make_run(f"a{i}", noise=i, ttft_ms=100 if i else 300) for i in range(4)]
    others = [make_run(f"b{i}", noise=10 + i, ttft_ms=100 if i else 300) for i in range(4)]
    done = held(",".join(map(str, runs)), ",".join(map(str, others)), "ttft p95", "ttft p50")
    p95 = done.figures[0].a
    assert p95 is not None
    assert p95 > 250e6, "the slow quarter of all values; the mean of the runs' own p95 is below 200 ms"
    assert done.figures[0].n_a == 1200
    assert done.method.startswith("by run")


def test_runs_that_differ_widen_the_interval(make_run: MakeRun) -> None:
    alike = ",".join(str(make_run(f"a{i}", noise=i)) for i in range(4))
    apart = ",".join(str(make_run(f"b{i}", noise=10 + i, ttft_ms=90 + 10 * i)) for i in range(4))
    one = str(make_run("c", noise=30))
    narrow, wide = held(alike, one, "ttft p50").figures[0], held(apart, one, "ttft p50").figures[0]
    assert (wide.high or 0) / (wide.low or 1) > 2 * (narrow.high or 0) / (narrow.low or 1) - 1
    assert wide.verdict is Change.UNDECIDED


@pytest.mark.parametrize(
    ("key", "scenario"),
    [
        ("load.rate", {"load": {"arrivals": "constant", "rate": 50.0, "requests": 300}}),
        ("prompts.text", {"prompts": {"source": "text", "text": ["Other"]}}),
        ("sampling.max_tokens", {"sampling": {"max_tokens": 8}}),
        ("model", {"model": "n"}),
    ],
)
def test_runs_of_another_load_are_refused_by_the_key(
    make_run: MakeRun, key: str, scenario: dict[str, Any]
) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2, **scenario)
    done = held(a, b, "ttft p50")
    assert (done.verdict, done.exit_code, done.figures) == (Change.INVALID, 4, ())
    assert f"{key}: " in done.causes[0]
    assert f"--across {key}" in done.causes[0]
    across = held(a, b, "ttft p50", across=[key.partition(".")[0]])
    assert across.verdict is not Change.INVALID
    assert any(key in note for note in across.notes)


def test_length_and_seed_are_remarks(make_run: MakeRun) -> None:
    a = make_run("a", noise=1)
    b = make_run("b", noise=2, num=200, seed=5)
    done = held(a, b, "ttft p50")
    assert {each.key for each in done.differences} == {"load.requests", "seed"}
    assert not any(each.matters for each in done.differences)
    assert "each side drawn by itself" in done.method
    assert "the same requests drawn" in held(a, make_run("c", noise=3), "ttft p50").method


def test_a_run_that_can_t_be_trusted_compares_with_nothing(make_run: MakeRun) -> None:
    done = held(make_run("a", noise=1), make_run("b", noise=2, finished=False), "ttft p50")
    assert done.exit_code == 4
    assert "broken off" in done.causes[0]


def test_a_regression_as_small_as_the_harness_s_own_error_is_invalid(make_run: MakeRun) -> None:
    a, b = make_run("a", noise=1, lag_ms=40), make_run("b", noise=2, ttft_ms=130, lag_ms=40)
    done = held(a, b, "ttft p50")
    assert (done.verdict, done.exit_code) == (Change.INVALID, 4)
    assert "the harness's own error is" in done.figures[0].message


@pytest.mark.parametrize("ttft_ms", [100, 104, 106])
def test_nor_is_its_absence_shown(make_run: MakeRun, ttft_ms: float) -> None:
    """5 ms are allowed of 100, and the harness may be wrong by 40."""
    a, b = make_run("a", noise=1, lag_ms=40), make_run("b", noise=2, ttft_ms=ttft_ms, lag_ms=40)
    done = held(a, b, "ttft p50")
    assert (done.verdict, done.exit_code) == (Change.INVALID, 4)
    assert "separate it from what is allowed, and the harness's own error is" in done.figures[0].message


def test_an_improvement_within_the_harness_s_own_error_is_none(make_run: MakeRun) -> None:
    a, b = make_run("a", noise=1, lag_ms=12), make_run("b", noise=2, ttft_ms=90, lag_ms=12)
    figure = held(a, b, "ttft p50").figures[0]
    assert figure.verdict is Change.NO_DIFFERENCE
    assert "separate it from A's" in figure.message
    c, d = make_run("c", noise=1), make_run("d", noise=2, ttft_ms=90)
    assert held(c, d, "ttft p50").figures[0].verdict is Change.IMPROVED


def test_goodput_by_other_objectives_is_not_compared(make_run: MakeRun) -> None:
    a = make_run("a", noise=1)
    b = make_run("b", noise=2, thresholds={"ttft": ["p50 < 200ms"]})
    done = held(a, b, "goodput", "ttft p50")
    assert done.figures[0].verdict is Change.NOT_COMPARED
    assert "other objectives" in done.figures[0].message


def test_failures_are_told_in_points(make_run: MakeRun) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2, failing=60)
    figure = held(a, b, "error_rate").figures[0]
    assert (figure.kind, figure.change, figure.verdict) == ("difference", 0.2, Change.REGRESSION)
    none = held(a, make_run("c", noise=3), "error_rate").figures[0]
    assert none.verdict is Change.UNDECIDED or none.verdict is Change.NO_DIFFERENCE
    assert (none.low or 0) < 0 < (none.high or 0), "no failure of 300 proves no rate of 0"


def test_fewer_tokens_a_second_are_worse(make_run: MakeRun) -> None:
    """A rate is worse when smaller."""
    a = make_run("a", noise=1)
    b = make_run("b", noise=2, failing=150)
    figure = held(a, b, "output_token_rate").figures[0]
    assert (figure.a or 0) > (figure.b or 0)
    assert figure.allowed == 0.95


def test_the_same_run_on_both_sides_is_refused(make_run: MakeRun) -> None:
    a = make_run("a", noise=1)
    with pytest.raises(ComparisonError, match="the same run"):
        held(a, a)
    with pytest.raises(ComparisonError, match="once"):
        held(f"{a},{a}", make_run("b", noise=2))


def test_the_same_comparison_twice_is_the_same(make_run: MakeRun) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2)
    assert held(a, b) == held(a, b)


def test_a_misspelt_key_is_refused(make_run: MakeRun) -> None:
    with pytest.raises(ComparisonError, match=r"did you mean 'load\.rate'"):
        held(make_run("a", noise=1), make_run("b", noise=2), across=["load.raet"])


def test_a_baseline_says_the_same_as_its_run(make_run: MakeRun, tmp_path: Path) -> None:
    a, b = make_run("a", noise=1), make_run("b", noise=2, ttft_ms=110)
    store = Baselines(tmp_path / "kept")
    store.save("main", side_of(str(a), store))
    assert store.names() == ["main"]
    ((name, page, size),) = store.pages()
    assert (name, page.scenario, page.num_requests) == ("main", "probe", 300)
    assert size < 30_000
    new = side_of(str(b), store)
    from_baseline = compare(store.load("main"), new, times=400)
    named = msgspec.json.encode(held(a, b).figures).replace(b"samples in a ", b"samples in main ")
    assert msgspec.json.encode(from_baseline.figures) == named
    assert page.figures["ttft p95"] == next(f.a for f in from_baseline.figures if f.name == "ttft p95")


@pytest.mark.parametrize("damage", [b"", b"x" * 40])
def test_a_damaged_baseline_is_told(make_run: MakeRun, tmp_path: Path, damage: bytes) -> None:
    store = Baselines(tmp_path / "kept")
    folder = store.save("main", side_of(str(make_run("a")), store))
    (folder / "sample.bin").write_bytes(damage)
    with pytest.raises(ComparisonError, match="is damaged"):
        store.load("main")


def test_a_baseline_of_another_version_is_told(make_run: MakeRun, tmp_path: Path) -> None:
    import zlib

    store = Baselines(tmp_path / "kept")
    folder = store.save("main", side_of(str(make_run("a")), store))
    (folder / "sample.bin").write_bytes(zlib.compress(msgspec.msgpack.encode({"version": 99})))
    with pytest.raises(ComparisonError, match="version 99, this tokenpace reads 1"):
        store.load("main")


def test_a_run_that_can_t_be_trusted_is_no_baseline(make_run: MakeRun, tmp_path: Path) -> None:
    store = Baselines(tmp_path / "kept")
    with pytest.raises(ComparisonError, match="is no baseline: "):
        store.save("main", side_of(str(make_run("a", finished=False)), store))


@pytest.mark.parametrize("name", ["../x", "", "a b", ".hidden"])
def test_a_name_that_is_no_folder_is_refused(make_run: MakeRun, tmp_path: Path, name: str) -> None:
    store = Baselines(tmp_path / "kept")
    with pytest.raises(ComparisonError, match="can't name a baseline"):
        store.save(name, side_of(str(make_run("a")), store))


def test_what_is_nowhere_is_named_with_what_there_is(make_run: MakeRun, tmp_path: Path) -> None:
    store = Baselines(tmp_path / "kept")
    store.save("main", side_of(str(make_run("a")), store))
    with pytest.raises(ComparisonError, match=r"mian: neither .* baselines: main"):
        side_of("mian", store)
