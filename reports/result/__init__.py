"""The result of a run: everything a report shows, and nothing it would have to compute.

A ``Result`` is one frozen snapshot. Every output (console, JSON, HTML, JUnit, pytest message) is a
function of it, so that no two outputs can disagree. A missing number is None and has a reason.

Times are integer nanoseconds unless the field's name says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from reports.conversations import Conversations
from reports.document import read_document
from reports.percentile import Percentile as Percentile
from reports.result.client_health import ClientHealth as ClientHealth
from reports.result.client_health import WorkerHealth as WorkerHealth
from reports.result.metrics import Curve as Curve
from reports.result.metrics import MetricSummary as MetricSummary
from reports.result.metrics import Rate as Rate
from reports.result.requests import ErrorClass as ErrorClass
from reports.result.requests import RequestRow as RequestRow
from reports.result.requests import Sample as Sample
from reports.result.rules import Looks as Looks
from reports.result.rules import RuleResult as RuleResult
from reports.result.time_point import TimePoint as TimePoint
from reports.result.verdict import Verdict as Verdict
from reports.result.verdict import exit_code as exit_code
from reports.server_telemetry import ServerTelemetry
from reports.whole_file import write_json

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
NAME = "tokenpace result"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run.

    Attributes:
        schema_version: Of this structure.
        tool_version: Of tokenpace.
        scenario_name: Name of the scenario.
        scenario: The scenario as run, secrets masked.
        base_url: The address under test, secrets masked.
        model: The model's name as sent.
        endpoint: ``chat`` or ``completions``.
        loop: ``open`` or ``closed``.
        seed: The scenario's seed.
        started_at: ISO 8601 wall time with zone, a label only.
        duration_s: Length of the run.
        window_s: Start and end of the measured window, seconds after the start of the run.
        verdict: The run's verdict; None where no objectives were stated and nothing is wrong.
        causes: Why the run is INVALID, each with its remedy.
        notes: Things the reader must know: token source, interrupted, client-bound, cold connections.
        interrupted: Name of the signal that ended the run early, None if none did.
        outcomes: Number of requests by outcome, whole run.
        metrics: All metrics, each with its basis.
        rates: All rates and shares.
        rules: All objectives, judged.
        errors: Failures by class, most frequent first.
        timeline: The run over time.
        requests: At most 2,000 requests, failures first when there are more.
        num_requests: Number of requests in all.
        samples: Some prompts and answers.
        token_source: Where output token counts come from: ``usage``, ``token_ids``, ``tokenizer``,
            ``chunks`` or ``mixed``.
        health: The harness's own error.
        environment: Python, platform, CPU, load average, packages.
        curves: Whole distributions, for the percentile chart.
        server: What the server said of itself, None where it wasn't asked or has no such page.
        looks: Where the run was to end as soon as all was decided; None elsewhere.
        conversations: By turn; None where requests stood by themselves.
    """

    schema_version: int
    tool_version: str
    scenario_name: str
    scenario: dict[str, Any]
    base_url: str
    model: str
    endpoint: str
    loop: str
    seed: int
    started_at: str
    duration_s: float
    window_s: tuple[float, float]
    verdict: Verdict | None
    causes: tuple[str, ...]
    notes: tuple[str, ...]
    interrupted: str | None
    outcomes: dict[str, int]
    metrics: tuple[MetricSummary, ...]
    rates: tuple[Rate, ...]
    rules: tuple[RuleResult, ...]
    errors: tuple[ErrorClass, ...]
    timeline: tuple[TimePoint, ...]
    requests: tuple[RequestRow, ...]
    num_requests: int
    samples: tuple[Sample, ...]
    token_source: str
    health: ClientHealth
    environment: dict[str, Any]
    curves: tuple[Curve, ...] = ()
    server: ServerTelemetry | None = None
    conversations: Conversations | None = None
    looks: Looks | None = None

    def metric(self, name: str, basis: str | None = "response") -> MetricSummary | None:
        """The summary of a metric; metrics without a basis are found under any."""
        return next((m for m in self.metrics if m.name == name and m.basis in (basis, None)), None)

    def rate(self, name: str) -> Rate | None:
        """The rate or share of that name."""
        return next((r for r in self.rates if r.name == name), None)

    @property
    def exit_code(self) -> int:
        """129, 130 or 143 when interrupted, else the verdict's exit code, 0 without objectives."""
        return exit_code(self.verdict, self.interrupted)


def save(result: Result, path: Path) -> None:
    """Write ``result`` as strict JSON, atomically.

    Raises:
        OSError: The file can't be written.
    """
    write_json(path, result)


def load(path: Path) -> Result:
    """Read a result written by ``save``.

    Raises:
        DocumentError: The file is missing, no result, or of another schema version.
    """
    return read_document(path, Result, SCHEMA_VERSION, NAME)
