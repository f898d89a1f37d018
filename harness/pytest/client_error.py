"""The harness's own error, beside an objective."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.quality_figures import QUALITY_FIGURES
from harness.rates import UNITS
from harness.series import series_of
from harness.server_figures import SERVER_FIGURES
from harness.sla.grammar import is_relative, parse_key

if TYPE_CHECKING:
    from reports.result import Result, RuleResult


def client_error_of(judged: RuleResult, result: Result) -> float | None:
    """The harness's own error in what an objective is about; None where it has none."""
    key, _, condition = judged.rule.partition(" ")
    metric, basis = parse_key(key)
    if is_relative(condition) or any(metric in known for known in (UNITS, SERVER_FIGURES, QUALITY_FIGURES)):
        return None
    summary = result.metric(*series_of(metric, basis, result.loop))
    return None if summary is None else summary.client_error_p99
