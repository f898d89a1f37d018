"""The example project, copied out of this tree: each verdict, its message, exit code and JUnit."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.junit_form import faults

from tests.e2e.pytest_plugin.conftest import Project

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from support.timetable_process import TimetableProcess

    from tests.e2e.pytest_plugin.conftest import Session

EXAMPLE = Path(__file__).parents[3] / "examples" / "sla-project"
VERDICTS = "tests/test_four_verdicts.py"
TEXTS = {
    "pass": ("output_tokens p50 >= 1", "PASS"),
    "fail": ("SLA missed: ttft p50 <= 1us", "20 of 20 over the limit"),
    "inconclusive": (
        "SLA undecided: too few samples to say either: error_rate < 1%",
        "more samples would decide",
    ),
    "invalid": (
        "SLA run invalid: its numbers can't be trusted",
        "warmup: auto needs 50 requests that succeeded and 20 did",
    ),
}


@pytest.fixture
def example(tmp_path: Path, timetable: TimetableProcess) -> Project:
    folder = tmp_path / "sla-project"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "results", ".pytest_cache"))
    return Project(folder, timetable.url)


def _run(example: Project, *arguments: str) -> Session:
    return example.pytest(*arguments, "-p", "no:asyncio", "--junitxml=results/sla.xml")


def test_it_passes(example: Project) -> None:
    done = _run(example, "-m", "sla", "tests/test_chat.py", "-W", "error")
    assert done.code == 0, done.output
    done.has("4 passed", "= SLA =")
    assert sum(path.name.startswith("shared-") for path in (example.path / "results").iterdir()) == 1
    root = example.junit("results/sla.xml")
    assert not list(faults(root))
    assert _properties(root)["sla.tests/test_chat.py::test_first_token_comes_soon.ttft.p50.verdict"] == "PASS"
    assert "| PASS |" in (example.path / "results" / "sla.md").read_text()


def test_each_verdict_has_its_message(example: Project) -> None:
    done = _run(example, VERDICTS)
    assert done.code == 1
    done.has("3 failed, 1 passed", *(text for texts in TEXTS.values() for text in texts))
    root = example.junit("results/sla.xml")
    assert not list(faults(root))
    found = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert found == {f"test_{name}": [] if name == "pass" else ["failure"] for name in TEXTS}
    for case in root.iter("failure"):
        page = next(line for line in (case.text or "").splitlines() if line.startswith("report: "))
        assert (example.path / page.removeprefix("report: ")).is_file()
    verdicts = [value for name, value in _properties(root).items() if name.endswith("verdict")]
    assert sorted(set(verdicts)) == ["FAIL", "INCONCLUSIVE", "INVALID", "PASS"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("-k", "test_pass"), 0, ("1 passed, 3 deselected",)),
        (
            ("--sla-inconclusive=warn",),
            1,
            ("UndecidedWarning: SLA undecided", "2 failed, 2 passed, 1 warning"),
        ),
        (
            ("--sla-inconclusive=skip",),
            1,
            ("SKIPPED [1] tests/test_four_verdicts.py:", "2 failed, 1 passed, 1 skip"),
        ),
        (("--sla-inconclusive=pass",), 4, ("--sla-inconclusive: 'pass' is none of fail, warn, skip",)),
        (("-k", "nothing"), 5, ("4 deselected",)),
    ],
)
def test_exit_codes(example: Project, arguments: tuple[str, ...], code: int, said: tuple[str, ...]) -> None:
    """What is missed or can't be trusted fails whatever is to become of the undecided."""
    done = _run(example, VERDICTS, *arguments)
    assert done.code == code, done.output
    done.has(*said)


def _properties(root: Element) -> dict[str | None, str | None]:
    return {each.get("name"): each.get("value") for each in root.iter("property")}
