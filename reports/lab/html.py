"""An experiment as one HTML file: question, prediction, measurement, conclusion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from reports.formats.html.page import page
from reports.lab import words
from reports.lab.charts import charts

if TYPE_CHECKING:
    from reports.lab.table import Lab


def render(lab: Lab) -> str:
    """The whole page."""
    drawn = charts(lab)
    return page(
        "reports.lab",
        "lab.html.j2",
        lab,
        drawn,
        word=words.word(lab),
        sentence=words.sentence(lab),
        claims=words.claim_lines(lab),
        figures=drawn,
        has_points=any(run.values for run in lab.runs),
        columns=words.COLUMNS,
        lines=words.effect_lines(lab),
        run_columns=words.RUN_COLUMNS,
        runs=words.run_lines(lab),
        experiment=yaml.safe_dump(lab.experiment, sort_keys=False, allow_unicode=True, width=90),
    )
