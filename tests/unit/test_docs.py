"""What the documentation says holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import metrics
from harness.quality_figures import QUALITY_FIGURES
from harness.rates import UNITS
from harness.server_figures import SERVER_FIGURES
from harness.sla.grammar import rules_from
from scenarios.scenario import load_scenario

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


def test_the_scenario_of_the_documentation_can_be_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "scenarios.md").read_text()
    block = re.search(r"^    schema: 1\n(?:    .*\n|\n)+", page, re.MULTILINE)
    assert block
    example = tmp_path / "example.yaml"
    example.write_text(re.sub(r"^    ", "", block[0], flags=re.MULTILINE))
    scenario = load_scenario(example)
    assert scenario.schedule().loop == "open"
    assert len(rules_from(scenario.thresholds)) == 12


def test_every_metric_and_rate_is_defined() -> None:
    page = (ROOT / "docs" / "definitions.md").read_text()
    known = (*metrics.names(), *UNITS, *SERVER_FIGURES, *QUALITY_FIGURES)
    assert [name for name in known if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_is_a_page() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 60
