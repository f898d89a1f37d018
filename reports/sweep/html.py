"""A sweep as one HTML file: charts, then every point with a link to its own report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from reports.formats.html.page import page
from reports.sweep import words
from reports.sweep.charts import charts

if TYPE_CHECKING:
    from reports.sweep.table import Sweep


def render(sweep: Sweep) -> str:
    """The whole page."""
    drawn = charts(sweep)
    return page(
        "reports.sweep",
        "sweep.html.j2",
        sweep,
        drawn,
        word=words.word(sweep),
        sentence=words.sentence(sweep),
        facts=words.facts(sweep),
        figures=drawn,
        columns=words.COLUMNS,
        lines=words.point_lines(sweep),
        scenario=yaml.safe_dump(sweep.scenario, sort_keys=False, allow_unicode=True, width=90),
    )
