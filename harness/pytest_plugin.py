"""The pytest plugin: fixture ``load``, marker ``sla``, options ``--sla-...``.

::

    @pytest.mark.sla(ttft_p99="500ms", tpot_mean="50ms", error_rate="<1%")
    def test_chat(load):
        run = load(rate=20, duration="30s", prompts="Explain KV cache in 2 sentences.", max_tokens=100)
        assert run.e2e.p(95) <= "3s"

    async def test_chat_async(load):
        run = await load("chat")

pytest loads this module in every session of every project that has tokenpace installed, so it imports
nothing heavy and takes no name without the prefix ``sla``, ``load`` excepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.pytest import settings

if TYPE_CHECKING:
    from collections.abc import Generator

    from harness.comparison.objectives import RelativeRule
    from harness.pytest.loading import Load
    from harness.sla.rule import Rule

_LOAD = pytest.StashKey["Load"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini keys."""
    settings.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "sla(ttft_p99='500ms', tpot_mean='50ms', error_rate='<1%', ...): "
        "objectives of the loads that the test makes, judged after its body",
    )
    config.addinivalue_line(
        "markers",
        "sla_baseline('NAME', ttft_p95='10%', error_rate='1 point', ...): "
        "how much worse than the baseline of that name the loads of the test may be",
    )


@pytest.fixture(scope="session")
def sla_endpoint(pytestconfig: pytest.Config) -> str:
    """Address of the server under test. Override it in a conftest.py to start a server of your own."""
    endpoint = settings.value_of(pytestconfig, "endpoint")
    if endpoint is None:
        pytest.skip(
            "no server to test: give --sla-endpoint=URL, the ini key sla_endpoint or SLA_ENDPOINT, "
            "or override the fixture sla_endpoint in conftest.py"
        )
    return endpoint


@pytest.fixture
def load(request: pytest.FixtureRequest, sla_endpoint: str) -> Load:
    """Puts load on the server under test: ``run = load(rate=5, duration="10s", prompts="Hi")``."""
    workers = getattr(request.config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        pytest.fail(
            f"load tests can't share a machine with {workers} pytest-xdist workers: their times would tell "
            "of the other tests. Run them by themselves: pytest -m sla -n 0",
            pytrace=False,
        )
    from harness.pytest import baseline
    from harness.pytest.loading import Load
    from harness.pytest.marker import rules_of
    from harness.pytest.result_places import ResultPlaces

    item: pytest.Item = request.node
    if text := baseline.fault(item):
        pytest.fail(text, pytrace=False)
    rules: list[Rule | RelativeRule] = [*rules_of(item), *baseline.relative_rules_of(item)]
    made = Load(item, sla_endpoint, rules, ResultPlaces(item), baseline.baseline_of(item))
    request.node.stash[_LOAD] = made
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that says nothing sensible before any load is sent."""
    if not _is_judged(item):
        return
    from harness.pytest import baseline, marker

    text = marker.fault(item) or baseline.fault(item)
    if text is not None:
        pytest.fail(text, pytrace=False)


def _is_judged(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in ("sla", "sla_baseline"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judge the marker once the body has passed."""
    value = yield
    if _is_judged(item):
        from harness.pytest.marker import complaint

        text = complaint(item.stash.get(_LOAD, None))
        if text is not None:
            pytest.fail(text, pytrace=False)
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what was judged: for the summary, for JUnit, and beside a failure."""
    made = item.stash.get(_LOAD, None)
    rows: list[dict[str, Any]] = []
    if call.when == "call" and made is not None and made.runs:
        from harness.pytest.reporting import note

        rows = note(item, made)
    report = yield
    if rows:
        report.sla_rows = rows  # type: ignore[attr-defined]  # reports carry what plugins add, xdist's too
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain ``assert run.ttft.p(99) <= "500ms"``."""
    if not type(left).__module__.startswith("harness.pytest."):
        return None
    from harness.pytest.reporting import assertion_lines

    return assertion_lines(op, left, right)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the section "SLA": every objective that was judged, by test."""
    reports = [each for kind in terminalreporter.stats.values() for each in kind]
    rows = [row for report in reports for row in getattr(report, "sla_rows", ())]
    if not rows:
        return
    from harness.pytest.table import grid

    terminalreporter.section("SLA")
    tests = list(dict.fromkeys(row["test"] for row in rows))
    lines = grid(row["cells"] for row in rows)
    terminalreporter.write_line(lines[0])
    for test in tests:
        terminalreporter.write_line(test)
        for row, line in zip(rows, lines[1:], strict=True):
            if row["test"] == test:
                terminalreporter.write_line(line)
