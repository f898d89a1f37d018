"""A run held against its baseline in the test's body, and a result that the fixtures give twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.e2e.pytest_plugin.conftest import Project

KEYS = "concurrency=2, requests=200, prompts='Hi', max_tokens=5"


def test_worse_than_the_baseline_is_told(project: Project) -> None:
    project.write("test_first.py", f"def test_first(load):\n    load({KEYS})\n")
    assert project.pytest("--sla-results=first", "-q", "test_first.py").code == 0
    (first,) = (project.path / "first").iterdir()
    project.write(
        "test_second.py",
        f"""
        def test_shares(load):
            run = load({KEYS})
            assert run.error_rate <= run.baseline.error_rate + 0.10
            assert float(run.baseline.ttft.p(50)) > 0

        def test_shared(load_session):
            run = load_session({KEYS})
            assert run.error_rate <= run.baseline.error_rate + 0.20

        def test_too_strict(load):
            run = load({KEYS})
            assert run.ttft.p(50) <= run.baseline.ttft.p(50) * 0.01

        def test_other_number(load):
            run = load({KEYS})
            assert run.ttft.p(50) <= run.baseline.ttft.p(95)
        """,
    )
    done = project.pytest(f"--sla-baseline={first}", "-q", "test_second.py")
    assert done.code == 1
    done.has("2 failed, 2 passed", "ttft p50 can't be held against ttft p95 of the baseline")
    done.has("asks for the worse side")
