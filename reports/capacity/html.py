"""A search as one HTML file: the answer first, then the knee, then every probe with a link to its own
report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from reports.capacity import words
from reports.capacity.charts import charts
from reports.formats.html.page import page
from reports.units import duration, quantity

if TYPE_CHECKING:
    from reports.capacity.search import Capacity


def render(capacity: Capacity) -> str:
    """The whole page."""
    drawn = charts(capacity)
    return page(
        "reports.capacity",
        "capacity.html.j2",
        capacity,
        drawn,
        facts=words.facts(capacity),
        took=duration(capacity.duration_s),
        confidence=quantity(capacity.confidence, "share"),
        figures=drawn,
        columns=words.COLUMNS,
        lines=words.probe_lines(capacity),
        probes=capacity.probes,
        scenario=yaml.safe_dump(capacity.scenario, sort_keys=False, allow_unicode=True, width=90),
    )
