"""The pytest plugin: fixtures ``load`` and ``load_session``, marker ``sla``, options ``--sla-...``.

::

    @pytest.mark.sla(ttft_p99="500ms", tpot_mean="50ms", error_rate="<1%")
    def test_chat(load):
        run = load(rate=20, duration="30s", prompts="Explain KV cache in 2 sentences.", max_tokens=100)
        assert run.e2e.p(95) <= "3s"

    async def test_chat_async(load):
        run = await load("chat")

    @pytest.fixture(scope="session")
    def chat(load_session):
        return load_session("chat")             # sent once, for every test that asks for it

pytest loads this module in every session of every project that has tokenpace installed, so it imports
nothing heavy and takes no name without the prefix ``sla``, ``load`` and ``load_session`` excepted.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.pytest import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from harness.comparison.objectives import RelativeRule
    from harness.pytest.loading import Load
    from harness.pytest.shared_load import SharedLoad
    from harness.sla.rule import Rule

_MARKERS = ("sla", "sla_baseline")
_LOADING = ("load", "load_session")
_FAULTS = pytest.StashKey[dict[str, str]]()
_NO_SERVER = (
    "no server to test: give --sla-endpoint=URL, the ini key sla_endpoint or SLA_ENDPOINT, or a "
    "model to serve with --sla-serve=MODEL, or override the fixture sla_endpoint in conftest.py"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini keys."""
    settings.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known; refuse settings that say nothing sensible."""
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
    text = settings.fault(config)
    if text is not None:
        raise pytest.UsageError(text)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 (pytest-xdist's, which need not be installed)
    """In pytest-xdist's controller: tell a worker what it shares with the others."""
    from harness.pytest import turns

    turns.tell_worker(node.config, node.workerinput)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what workers shared."""
    if config.getoption("numprocesses", None):
        from harness.pytest import turns

        turns.clear(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse markers that say nothing sensible, of the tests that will run, before any of them sends load.

    A pytest-xdist worker can't end the session. There each test that sends load fails by it, unsent.
    """
    items = [item for item in session.items if _is_judged(item)]
    if not items:
        return
    from harness.pytest import marker

    faults = {item.nodeid: text for item in items if (text := marker.fault(item)) is not None}
    if not faults:
        return
    if not hasattr(session.config, "workerinput"):
        raise pytest.UsageError("\n".join(f"{nodeid}: {text}" for nodeid, text in faults.items()))
    session.config.stash[_FAULTS] = faults


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make of a test that sends load as many as ``--sla-repeat`` says."""
    repeats = int(settings.value_of(metafunc.config, "repeat") or 1)
    if repeats > 1 and "load" in metafunc.fixturenames:
        numbers = range(1, repeats + 1)
        metafunc.fixturenames.append("sla_run")
        metafunc.parametrize("sla_run", numbers, indirect=True, ids=[f"run {n}" for n in numbers])


@pytest.fixture
def sla_run(request: pytest.FixtureRequest) -> int:
    """Which of the runs of a test this is that ``--sla-repeat`` makes, from 1."""
    number: int = getattr(request, "param", 1)
    return number


@pytest.fixture(scope="session")
def sla_endpoint(pytestconfig: pytest.Config) -> Iterator[str]:
    """Address of the server under test. Override it in a conftest.py to start a server of your own."""
    endpoint = settings.value_of(pytestconfig, "endpoint")
    model = settings.value_of(pytestconfig, "serve")
    if endpoint is not None:
        yield endpoint
    elif model is not None:
        yield from _own_server(model)
    else:
        pytest.skip(_NO_SERVER)


def _own_server(model: str) -> Iterator[str]:
    from harness.own_server import OwnServerError, serving

    try:
        with serving(model) as address:
            yield address
    except OwnServerError as error:
        text = str(error)
    else:
        return
    pytest.fail(text, pytrace=False)


@pytest.fixture(scope="session")
def sla_config() -> dict[str, object]:
    """Keys of a scenario that every load has unless it says otherwise. Override it in a conftest.py."""
    return {}


@pytest.fixture
def load(request: pytest.FixtureRequest, sla_endpoint: str, sla_config: Mapping[str, object]) -> Load:
    """Puts load on the server under test: ``run = load(rate=5, duration="10s", prompts="Hi")``."""
    _demand_one_sender(request.config)
    from harness.pytest import baseline, marker
    from harness.pytest.loading import Load
    from harness.pytest.result_places import ResultPlaces
    from harness.pytest.sender import Sender
    from harness.pytest.used_runs import LOAD

    item: pytest.Item = request.node
    if text := baseline.fault(item):
        pytest.fail(text, pytrace=False)
    rules: list[Rule | RelativeRule] = [*marker.rules_of(item), *baseline.relative_rules_of(item)]
    sender = Sender(request.config, sla_endpoint, sla_config, baseline.baseline_of(item))
    made = item.stash[LOAD] = Load(item, sender, rules, ResultPlaces(request.config, item.nodeid))
    return made


@pytest.fixture(scope="session")
def load_session(
    pytestconfig: pytest.Config, sla_endpoint: str, sla_config: Mapping[str, object]
) -> SharedLoad:
    """Like ``load``, for fixtures of a wider scope: what is asked for again is not sent again."""
    _demand_one_sender(pytestconfig)
    from functools import partial

    from harness.pytest import baseline, marker, turns, used_runs
    from harness.pytest.left_runs import LeftRuns
    from harness.pytest.result_places import ResultPlaces
    from harness.pytest.sender import Sender
    from harness.pytest.shared_load import SharedLoad

    if text := baseline.usual_fault(pytestconfig):
        pytest.fail(text, pytrace=False)
    sender = Sender(pytestconfig, sla_endpoint, sla_config, baseline.usual_baseline(pytestconfig))
    left = LeftRuns(turns.shared_folder(pytestconfig))
    used = partial(used_runs.note_shared, pytestconfig)
    asked = partial(marker.rules_now, pytestconfig)
    return SharedLoad(sender, partial(ResultPlaces, pytestconfig), left, used, asked)


def _demand_one_sender(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        from harness.pytest import turns

        text = turns.fault(config)
        if text is not None:
            pytest.fail(text, pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that sends load has the machine to itself, also under pytest-xdist."""
    with contextlib.ExitStack() as around:
        if hasattr(item.config, "workerinput"):
            from harness.pytest import turns

            around.enter_context(turns.turn_of(item))
        if _sends_load(item):
            from harness.pytest import interrupted, used_runs

            used_runs.begin(item)
            around.enter_context(interrupted.told(item))
        return (yield)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an async test that makes load, if nobody else has."""
    if not _sends_load(pyfuncitem):
        return None
    from harness.pytest import coroutines

    return coroutines.run(pyfuncitem)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marker that says nothing sensible, a fixture's too, before any load is sent."""
    text = _own_fault(item)
    if text is None and _sends_load(item):
        faults = item.config.stash.get(_FAULTS, {})
        text = next((f"no load is sent: {nodeid}: {fault}" for nodeid, fault in faults.items()), None)
    if text is not None:
        pytest.fail(text, pytrace=False)


def _own_fault(item: pytest.Item) -> str | None:
    if not _is_judged(item):
        return None
    from harness.pytest import marker

    return marker.fault(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Judge the marker once the body has passed."""
    value = yield
    if _is_judged(item):
        from harness.pytest import verdicts

        verdicts.demand(item)
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what was judged: for the summary, for JUnit, and beside a failure."""
    rows: list[dict[str, Any]] = []
    if call.when == "call" and _sends_load(item):
        from harness.pytest import reporting

        links = reporting.html_links(item)
        rows = reporting.note(item)
    report = yield
    if rows:
        _name_the_test(item, report)
        report.sla_rows = rows  # type: ignore[attr-defined]  # reports carry what plugins add, xdist's too
        report.extras = [*getattr(report, "extras", ()), *links]  # type: ignore[attr-defined]  # pytest-html's
    return report


def _name_the_test(item: pytest.Item, report: pytest.TestReport) -> None:
    """A skip for an undecided objective happened in the test, not in the line of ours that raised it."""
    if report.skipped and isinstance(report.longrepr, tuple):
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, report.longrepr[2])


def _is_judged(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in _MARKERS)


def _sends_load(item: pytest.Item) -> bool:
    return any(name in getattr(item, "fixturenames", ()) for name in _LOADING)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain ``assert run.ttft.p(99) <= "500ms"``."""
    if not type(left).__module__.startswith("harness.pytest."):
        return None
    from harness.pytest.reporting import assertion_lines

    return assertion_lines(op, left, right)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Put every objective that was judged into the JUnit file, before it is written."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and _any_load(reporter):
        from harness.pytest import junit, summary

        junit.add(session.config, summary.rows_of(reporter, _cut(session.config)))


def _any_load(reporter: pytest.TerminalReporter) -> bool:
    reports = (report for kind in reporter.stats.values() for report in kind)
    return bool(_cut(reporter.config)) or any(map(_is_of_load, reports))


def _is_of_load(report: object) -> bool:
    return hasattr(report, "sla_rows") or _lacks_server(report)


def _lacks_server(report: object) -> bool:
    longrepr = getattr(report, "longrepr", None)
    return isinstance(longrepr, tuple) and _NO_SERVER in longrepr[2]


def _cut(config: pytest.Config) -> list[dict[str, Any]]:
    """What runs left that the session's end cut off; without load nothing is imported for that."""
    if "harness.pytest.turns" not in sys.modules:
        return []
    from harness.pytest import notes

    return notes.noted(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the section "SLA": every objective that was judged, by test."""
    if not _any_load(terminalreporter):
        return
    from harness.pytest import summary

    config = terminalreporter.config
    rows = summary.rows_of(terminalreporter, _cut(config))
    summary.write(terminalreporter, rows, _lines(terminalreporter))
    path = settings.value_of(config, "report")
    if path is not None and rows:
        summary.save(Path(path), rows)


def _lines(reporter: pytest.TerminalReporter) -> list[str]:
    """What must not be overlooked though no objective was judged."""
    lines = [line for note in _cut(reporter.config) for line in note["lines"]]
    num_skipped = sum(map(_lacks_server, reporter.stats.get("skipped", ())))
    if num_skipped:
        tests = "1 test was" if num_skipped == 1 else f"{num_skipped} tests were"
        lines.append(f"{tests} skipped: {_NO_SERVER}")
    return lines
