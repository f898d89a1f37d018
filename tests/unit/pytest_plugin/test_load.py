"""The fixture ``load``: sync and async, where it sends, what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.pytest_plugin.conftest import FakeSpine

pytest_plugins = ["pytester"]

SYNC = """
    def test_it(load):
        run = load(requests=3, prompts="Hi")
        assert run.ttft.max <= "1s"
"""


def test_B4_05_sync_test_gets_the_run_at_once(project: pytest.Pytester) -> None:
    project.makepyfile(SYNC)
    project.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_B4_05_async_test_awaits_it(project: pytest.Pytester, mode: str) -> None:
    project.makepyfile(
        """
        import asyncio, pytest
        @pytest.mark.asyncio
        async def test_it(load):
            first, second = await asyncio.gather(
                load(requests=3, prompts="Hi"), load(concurrency=2, requests=4, prompts="Hi"))
            assert (len(first.requests), len(second.requests)) == (3, 4)
            assert first.ttft.max <= "1s"
        """
    )
    project.runpytest_inprocess("-W", "error", "-o", f"asyncio_mode={mode}").assert_outcomes(passed=1)


def test_B4_05_sync_test_inside_a_running_loop_uses_its_own_thread(project: pytest.Pytester) -> None:
    """As under a sync browser plugin or in a notebook."""
    project.makepyfile(
        """
        import asyncio
        def test_it(load):
            async def outer():
                return load(requests=3, prompts="Hi")
            assert len(asyncio.run(outer()).requests) == 3
        """
    )
    project.runpytest_inprocess("-W", "error").assert_outcomes(passed=1)


def test_forgotten_await_is_told(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(
        """
        async def test_it(load):
            run = load(requests=3, prompts="Hi")
            run.ttft
        """
    )
    result = project.runpytest_inprocess("-W", "error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*in an async test write run = await load(...)"])
    assert not spine.calls


def test_needless_await_does_no_harm(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import asyncio
        def test_it(load):
            async def inner():
                return await load(requests=3, prompts="Hi")
            assert len(asyncio.run(inner()).requests) == 3
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_error_of_the_run_reaches_the_test(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ConnectionError("nobody listens")

    monkeypatch.setattr("harness.run.run", broken)
    project.makepyfile(SYNC)
    result = project.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ConnectionError: nobody listens"])


def test_without_a_server_the_test_is_skipped_with_the_reason(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLA_ENDPOINT")
    project.makepyfile(SYNC)
    result = project.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*no server to test: give --sla-endpoint=URL*"])


def test_option_wins_over_environment_and_that_over_ini(
    project: pytest.Pytester, spine: FakeSpine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makepyfile(SYNC)
    ini = ("-o", "sla_endpoint=http://ini", "-o", "sla_model=ini-model")
    project.runpytest_inprocess(*ini, "--sla-endpoint=http://option").assert_outcomes(passed=1)
    project.runpytest_inprocess(*ini).assert_outcomes(passed=1)
    monkeypatch.delenv("SLA_ENDPOINT")
    project.runpytest_inprocess(*ini).assert_outcomes(passed=1)
    assert [call["base_url"] for call in spine.calls] == ["http://option", "http://127.0.0.1:9", "http://ini"]
    assert {call["model"] for call in spine.calls} == {"ini-model"}


def test_fixture_overridden_in_conftest_is_the_server(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def sla_endpoint():
            yield "http://mine"
        """
    )
    project.makepyfile(SYNC)
    project.runpytest_inprocess().assert_outcomes(passed=1)
    assert spine.calls[0]["base_url"] == "http://mine"


def test_key_comes_from_the_environment(
    project: pytest.Pytester, spine: FakeSpine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-general")
    monkeypatch.setenv("SLA_API_KEY", "sk-special")
    project.makepyfile(SYNC)
    project.runpytest_inprocess().stdout.no_fnmatch_line("*sk-special*")
    assert spine.calls[0]["api_key"] == "sk-special"


def test_results_given_a_folder_are_all_kept(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(SYNC)
    for _ in range(2):
        project.runpytest_inprocess("--sla-results=out").assert_outcomes(passed=1)
        assert not list(spine.calls[-1]["result_dir"].iterdir())
    first, second = (call["result_dir"] for call in spine.calls)
    assert first.parent == second.parent == project.path / "out"
    assert first.name.endswith("test_it-1")
    assert second.name.endswith("test_it-2")


def test_without_pytests_cache_results_have_a_place(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile(SYNC)
    project.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert spine.calls[0]["result_dir"].parent == project.path / ".sla-results"


def test_unknown_key_suggests_the_right_one(project: pytest.Pytester, spine: FakeSpine) -> None:
    project.makepyfile("def test_it(load): load(request=3, prompts='Hi')")
    project.runpytest_inprocess().stdout.fnmatch_lines(
        ["*load(request=...): no such key*did you mean 'requests'*"]
    )
    assert not spine.calls


@pytest.mark.parametrize(
    ("arguments", "loop", "count"),
    [
        ("requests=3, prompts='Hi'", "closed", 3),
        ("rate=20, duration='2s', prompts=['Hi', 'Ho'], max_tokens=5", "open", 40),
        ("'smoke'", "closed", 10),
        ("'chat', requests=7, rate=9", "open", 7),
    ],
)
def test_arguments_make_a_scenario(
    project: pytest.Pytester, spine: FakeSpine, arguments: str, loop: str, count: int
) -> None:
    project.makepyfile(f"def test_it(load): load({arguments})")
    project.runpytest_inprocess().assert_outcomes(passed=1)
    schedule = spine.calls[0]["scenario"].schedule()
    assert (schedule.loop, len(list(schedule.arrivals))) == (loop, count)
