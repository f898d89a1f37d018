"""What the server says of itself, as numbers of a run in a test's body and in the marker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]


def _test(line: str, marker: str = "") -> str:
    head = f"import pytest\n{marker}\ndef test_it(load):\n    run = load(requests=60, prompts='Hi')\n"
    return f"{head}    {line}\n"


def test_a_server_that_says_nothing_is_never_a_pass(project: pytest.Pytester) -> None:
    project.makepyfile(_test("assert run.server_kv_cache_usage.max < '90%'"))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no sample of server_kv_cache_usage: the server's metrics were not read*"])


def test_in_the_marker(project: pytest.Pytester) -> None:
    marker = "@pytest.mark.sla(server_requests_waiting_p95=4)"
    project.makepyfile(_test("del run", marker))
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*server_requests_waiting p95 <= 4*INVALID*"])


def test_a_misspelt_figure_sends_no_load(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(_test("del run", "@pytest.mark.sla(server_request_waiting_p95=4)"))
    result = project.runpytest_inprocess()
    assert "did you mean 'server_requests_waiting'" in result.stdout.str() + result.stderr.str()
    assert result.ret != 0
    assert not spine.calls
