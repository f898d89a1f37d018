"""The result of a run: everything a report shows, and nothing it would have to compute.

A ``Result`` is one frozen snapshot. Every output (console, JSON, HTML, JUnit, pytest message) is a
function of it, so that no two outputs can disagree. A missing number is None and has a reason.

Times are integer nanoseconds unless the field's name says otherwise.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import msgspec

from reports.conversations import Conversations
from reports.percentile import Percentile as Percentile
from reports.server_telemetry import ServerTelemetry
from reports.whole_file import write_json

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1


class ResultError(ValueError):
    """A result that can't be read. The message names the file, the fault and the remedy."""


class Verdict(enum.StrEnum):
    """The verdict of a rule or of a run."""

    PASS = "PASS"  # noqa: S105 (a verdict, not a password)
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        """The process exit code: PASS 0, FAIL 1, INCONCLUSIVE 3, INVALID 4 (2 is a usage error)."""
        return {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "INVALID": 4}[self.value]


class MetricSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the measured window.

    Attributes:
        name: ``ttft``, ``itl``, ``tpot``, ...
        basis: ``response`` (from due) or ``service`` (from sent), None where there is no difference.
        unit: ``ns``, ``tokens`` or ``tokens/s``.
        n: Number of samples.
        minimum: Exact smallest sample, None for n = 0.
        mean: Mean of the samples, None for n = 0.
        maximum: Exact largest sample, None for n = 0.
        percentiles: In ascending order of p; empty for n = 0.
        reason: Why there are no samples, None where there are some.
        client_error_p99: The harness's own error bound in the metric's unit, None where it has none.
    """

    name: str
    basis: str | None
    unit: str
    n: int
    minimum: float | None = None
    mean: float | None = None
    maximum: float | None = None
    percentiles: tuple[Percentile, ...] = ()
    reason: str | None = None
    client_error_p99: float | None = None

    def percentile(self, p: float) -> Percentile | None:
        """The percentile ``p`` if it was summarised, else None."""
        return next((each for each in self.percentiles if each.p == p), None)


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's whole distribution, for the percentile chart.

    Attributes:
        name: As in ``MetricSummary``.
        basis: Likewise.
        unit: Likewise.
        n: Number of samples.
        points: (p, value) in ascending order of p, each a nearest-rank percentile; the last is p = 100.
    """

    name: str
    basis: str | None
    unit: str
    n: int
    points: tuple[tuple[float, float], ...]


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A count per second over the measured window, or a share of requests.

    Attributes:
        name: ``request_rate``, ``output_token_rate``, ``input_token_rate``, ``goodput``,
            ``attainment``, ``error_rate``.
        unit: ``requests/s``, ``tokens/s`` or ``share``.
        value: None where it can't be known; ``reason`` says why.
        numerator: The count above the line.
        denominator: The count or the seconds below it.
        reason: Why the value is None.
    """

    name: str
    unit: str
    value: float | None
    numerator: float | None = None
    denominator: float | None = None
    reason: str | None = None


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """One objective, judged.

    Attributes:
        rule: As written, in canonical form: ``ttft p99 < 500ms``.
        metric: The metric's name.
        observed: The value that was judged, unrounded, in ``unit``. None without samples.
        limit: The limit in ``unit``.
        unit: ``ns``, ``tokens``, ``tokens/s``, ``requests/s`` or ``share``.
        verdict: PASS, FAIL, INCONCLUSIVE or INVALID.
        confidence: The confidence the verdict was asked to have, 0..1.
        n: Number of samples behind ``observed``.
        n_eff: The number of independent samples that say as much: fewer where neighbouring requests, or the
            tokens of one answer, are alike. None for what needs no confidence, and for rates per second.
        low: Lower end of the confidence interval of ``observed``, None where it has none.
        high: Upper end, likewise.
        more_needed: For INCONCLUSIVE: how many more samples would decide if the share of misses
            stays as it is; None where unknown.
        message: One sentence: what was found and, unless it passed, what to do.
    """

    rule: str
    metric: str
    observed: float | None
    limit: float
    unit: str
    verdict: Verdict
    confidence: float
    n: int
    n_eff: float | None = None
    low: float | None = None
    high: float | None = None
    more_needed: int | None = None
    message: str = ""


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """How a run was judged that ends as soon as its objectives are decided.

    Attributes:
        look: The look at which it was judged, from 1; ``most`` where it came to its own end.
        most: How many looks there could have been.
        place: The part of the plan at which that look is, 0..1.
        level: The confidence of that look by itself: its verdicts and bounds have it.
        confidence: That of all looks together, as asked for.
    """

    look: int
    most: int
    place: float
    level: float
    confidence: float


class ErrorClass(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that failed alike.

    Attributes:
        outcome: ``http_error``, ``timeout``, ``truncated``, ...
        detail: The sub-class: HTTP status, which timeout; empty where there is none.
        count: How many.
        sample: One message, secrets masked, at most 500 characters.
        request_id: ``X-Request-Id`` of the request of that message, for a look into the server's log.
    """

    outcome: str
    detail: str
    count: int
    sample: str
    request_id: str | None = None


class TimePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One slice of the run, for the charts over time.

    Attributes:
        start_s: Seconds after the start of the run.
        length_s: Length of the slice.
        in_flight: Largest number of requests in flight.
        sent: Requests sent in the slice.
        completed: Requests that ended well in the slice.
        failed: Requests that failed in the slice.
        output_tokens: Tokens that arrived in the slice.
        ttft: Percentiles of response TTFT of requests whose first token arrived in the slice, ns.
        itl: Percentiles of the gaps between tokens that arrived in the slice, ns.
        tpot: Percentiles of the TPOT of requests that ended in the slice, ns.
    """

    start_s: float
    length_s: float
    in_flight: int
    sent: int
    completed: int
    failed: int
    output_tokens: int
    ttft: tuple[Percentile, ...] = ()
    itl: tuple[Percentile, ...] = ()
    tpot: tuple[Percentile, ...] = ()


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request, for the report's table and scatter chart (the journal holds all of them whole).

    Attributes:
        index: Position in the schedule.
        start_s: When it was sent, seconds after the start of the run.
        outcome: As in definitions: ``ok``, ``http_error``, ...
        detail: The sub-class of a failure.
        measured: True inside the measured window, False in warm-up, cool-down or when cut.
        prompt_tokens: None where unknown.
        output_tokens: None where unknown.
        ttft: Response TTFT, ns, None without a token.
        tpot: ns, None for fewer than two tokens.
        e2e: Response end-to-end time, ns.
        schedule_lag: sent - due, ns, None in a closed loop.
        message: The error's message, empty for ``ok``.
        request_id: Of a failure, what was sent as ``X-Request-Id``.
    """

    index: int
    start_s: float
    outcome: str
    detail: str = ""
    measured: bool = True
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    ttft: int | None = None
    tpot: float | None = None
    e2e: int | None = None
    schedule_lag: int | None = None
    message: str = ""
    request_id: str | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt and its answer, so that a reader sees what the numbers are about.

    Attributes:
        index: Position in the schedule.
        prompt: At most 2,000 characters.
        answer: At most 2,000 characters.
    """

    index: int
    prompt: str
    answer: str


class WorkerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One of several processes of a load. All times in ns.

    Attributes:
        num_requests: Requests that it sent.
        cpu_share: CPU time per second of run, in cores.
        loop_lag_p99: How late its event loop ran its probe.
        loop_lag_max: Likewise, the worst.
        schedule_lag_p99: As in ``ClientHealth``.
    """

    num_requests: int
    cpu_share: float
    loop_lag_p99: int
    loop_lag_max: int
    schedule_lag_p99: int | None


class ClientHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How far the harness itself may be trusted. All times in ns.

    Attributes:
        loop_lag_p99: How late the event loop ran its probe.
        loop_lag_max: Likewise, the worst.
        schedule_lag_p99: sent - due, less the time for a new connection. None in a closed loop.
        schedule_lag_max: Likewise, the worst.
        gc_pause_max: Longest garbage collection.
        gc_pause_total: All collections together.
        cpu_share: CPU time of the harness per second of run, in cores.
        coalesced_chunks: Token-bearing events that shared a socket read with an earlier one.
        num_chunks: Token-bearing events in all.
        clock_resolution: Of the monotonic clock.
        dropped_arrivals: Arrivals that were due and never sent.
        achieved_rate: Requests per second really sent, None in a closed loop.
        planned_rate: As planned, None in a closed loop.
        receive_delay_p50: From the kernel's receipt of a chunk to its stamp, on a share of the connections.
            None where the platform or the transport has no kernel stamps.
        receive_delay_p99: Likewise.
        receive_delay_max: Likewise.
        num_receive_delays: Number of samples of it.
        stamp_error_p99: Bound on how late 99 % of the stamps were, hence on the error of times that begin
            with the sending. None in results that don't have it: then the loop lag stands for it.
        interval_error_p99: Bound on the error of 99 % of the times between two stamps.
        response_error_p99: Bound on the error of 99 % of the times that begin with the due time.
        workers: Each process of the load, where there were several: then counts and CPU are the sums of
            theirs, and every time is that of the worst of them.
    """

    loop_lag_p99: int
    loop_lag_max: int
    schedule_lag_p99: int | None
    schedule_lag_max: int | None
    gc_pause_max: int
    gc_pause_total: int
    cpu_share: float
    coalesced_chunks: int
    num_chunks: int
    clock_resolution: int
    dropped_arrivals: int = 0
    achieved_rate: float | None = None
    planned_rate: float | None = None
    receive_delay_p50: int | None = None
    receive_delay_p99: int | None = None
    receive_delay_max: int | None = None
    num_receive_delays: int = 0
    stamp_error_p99: int | None = None
    interval_error_p99: int | None = None
    response_error_p99: int | None = None
    workers: tuple[WorkerHealth, ...] = ()


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
        """130 or 143 when interrupted, else the verdict's exit code, 0 without objectives."""
        if self.interrupted is not None:
            return {"SIGINT": 130, "SIGTERM": 143}.get(self.interrupted, 130)
        return self.verdict.exit_code if self.verdict is not None else 0


def save(result: Result, path: Path) -> None:
    """Write ``result`` as strict JSON, atomically.

    Raises:
        OSError: The file can't be written.
    """
    write_json(path, result)


def load(path: Path) -> Result:
    """Read a result written by ``save``.

    Raises:
        ResultError: The file is missing, no JSON, or of another schema version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultError(
            f"{path}: cannot be read ({error.strerror}); give a result folder or its result.json"
        ) from error
    try:
        version = msgspec.json.decode(data, type=_Versioned).schema_version
        if version != SCHEMA_VERSION:
            raise ResultError(f"{path}: schema version {version}, this tokenpace reads {SCHEMA_VERSION}")
        return msgspec.json.decode(data, type=Result)
    except msgspec.MsgspecError as error:
        raise ResultError(f"{path}: not a tokenpace result ({error})") from error


class _Versioned(msgspec.Struct):
    schema_version: int
