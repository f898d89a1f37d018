"""A failure shows the test's own lines and the message, none of our frames."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SYNC = "def test_it(load):\n    run = load(requests=3, prompts='Hi')\n    {line}\n"
ASYNC = "async def test_it(load):\n    run = await load({arguments})\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SYNC.format(line="assert run.ttft.p(50) < 5"), "*RuleError: *unit*"),
        (SYNC.format(line="run.ttft.p(150)"), "*RuleError: *"),
        (SYNC.format(line="run.check(ttfd_p99='5ms')"), "*RuleError: *ttfd*"),
        (SYNC.format(line="run.check(ttft_p50='1ms')"), "*AssertionError: *"),
        (SYNC.format(line="run.ttfx"), "*AttributeError: a run has no 'ttfx'*"),
        (SYNC.format(line="load(rat=3)"), "*ScenarioError: load(rat=*"),
        (ASYNC.format(arguments="rate=-1"), "*ScenarioError: *"),
    ],
)
def test_no_frame_of_ours(project: pytest.Pytester, source: str, message: str) -> None:
    project.makepyfile(source)
    result = project.runpytest_inprocess("--tb=long", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*" + message.lstrip("*")])
    text = result.stdout.str()
    for foreign in ("harness/", "scenarios/", "During handling", "direct cause"):
        assert foreign not in text, text


def test_error_of_the_run_itself(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stops a run rises in its own thread; the test sees it at its own line."""

    async def stops(*_: object, **__: object) -> None:
        from harness.errors import TargetError

        raise TargetError("no such host")

    monkeypatch.setattr("harness.run.run", stops)
    project.makepyfile(SYNC.format(line=""))
    result = project.runpytest_inprocess("--tb=long")
    result.stdout.fnmatch_lines(["E*TargetError: no such host"])
    assert "harness/pytest" not in result.stdout.str()
