"""From the lines of ``telemetry.jsonl`` to the server's part of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.telemetry.checks import MIN_LOOKS, BothSides, in_flight_checks, looks_in_run, total_checks
from harness.telemetry.growth import counted, increase, mean_ns
from harness.telemetry.log import Absent, Fault, Reading, Source, Unreadable
from reports.server_telemetry import CheckVerdict, CrossCheck, ServerPoint, ServerTelemetry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.telemetry.log import Line

MAX_POINTS: Final = 240


def server_telemetry(lines: Sequence[Line], both: BothSides, *, finished: bool) -> ServerTelemetry | None:
    """What the server said of itself, and whether the client agrees.

    Args:
        lines: Of the file.
        both: The client's side; its readings are taken from ``lines``.
        finished: False for a run that was killed, of whose end nothing is known.

    Returns:
        None where the server said nothing.
    """
    source = next((line for line in lines if isinstance(line, Source)), None)
    readings = [line for line in lines if isinstance(line, Reading)]
    if source is None or not readings:
        return None
    both = both._replace(readings=readings)
    whole = finished and readings[0].at_ns <= 0 and readings[-1].at_ns >= both.ended_ns
    return ServerTelemetry(
        dialect=source.dialect,
        url=source.url,
        num_readings=len(readings),
        num_failed=sum(isinstance(line, Fault) for line in lines),
        ttft_mean=mean_ns(readings, "ttft"),
        queue_time_mean=mean_ns(readings, "queue_time"),
        itl_mean=mean_ns(readings, "itl"),
        preemptions=counted(readings, "preemptions"),
        prefix_cache_hit_rate=_hit_rate(readings),
        num_looks=sum(_is_inside(reading, both.ended_ns) for reading in readings),
        points=_points(readings, both.ended_ns),
        checks=(*(total_checks(both) if whole else ()), *in_flight_checks(both)),
        notes=tuple(_gaps(both, whole=whole)),
    )


def telemetry_notes(lines: Sequence[Line], server: ServerTelemetry | None) -> Iterator[str]:
    """What the reader of the whole result must know."""
    yield from (f"no figures of the server: {line.message}" for line in lines if isinstance(line, Absent))
    damaged = [line for line in lines if isinstance(line, Unreadable)]
    if damaged:
        more = f", and {len(damaged) - 1} more" if damaged[1:] else ""
        yield f"passed over: {damaged[0].message}{more}; the server's figures may lack something"
    faults = [line for line in lines if isinstance(line, Fault)]
    if faults:
        num = sum(isinstance(line, Reading | Fault) for line in lines)
        yield f"the server's metrics could not be read {len(faults)} of {num} times: {faults[-1].message}"
    for check in server.checks if server else ():
        if check.verdict is CheckVerdict.DIFFERS:
            yield _disagreement(check)


def _disagreement(check: CrossCheck) -> str:
    return f"client and server differ in {check.name}: {check.message}"


def _gaps(both: BothSides, *, whole: bool) -> Iterator[str]:
    if both.readings[0].at_ns > 0:
        late_s = both.readings[0].at_ns / 1e9
        yield f"the server's metrics came {late_s:.3g} s into the run; what was before is not in them"
    if not whole:
        yield "the server was not seen both before and after the run, so totals are not compared"
    if len(looks_in_run(both)) < MIN_LOOKS:
        yield f"fewer than {MIN_LOOKS} looks fell into the run, so requests in flight are not compared"


def _hit_rate(readings: Sequence[Reading]) -> float | None:
    queries, hits = (counted(readings, f"prefix_cache_{what}") for what in ("queries", "hits"))
    return hits / queries if queries and hits is not None else None


def _is_inside(reading: Reading, ended_ns: int) -> bool:
    """Whether it was read while the run went on."""
    return 0 <= reading.at_ns <= ended_ns


def _points(readings: Sequence[Reading], ended_ns: int) -> tuple[ServerPoint, ...]:
    """Of neighbours that share a point the largest values: a peak stays a peak.

    What is running, waiting or in the cache after the run says nothing of it.
    """
    prompts, generated = (_since_first(readings, f"{kind}_tokens") for kind in ("prompt", "generation"))
    first = sum(reading.at_ns < 0 for reading in readings)
    size = -(-(len(readings) - first) // MAX_POINTS) or 1
    groups = (range(i, min(i + size, len(readings))) for i in range(first, len(readings), size))

    def largest(group: range, name: str) -> float | None:
        shared = readings[group[0] : group[-1] + 1]
        return _largest([each for each in shared if _is_inside(each, ended_ns)], name)

    return tuple(
        ServerPoint(
            at_s=readings[group[-1]].at_ns / 1e9,
            running=largest(group, "running"),
            waiting=largest(group, "waiting"),
            kv_usage=largest(group, "kv_usage"),
            prompt_tokens=prompts[group[-1]],
            generation_tokens=generated[group[-1]],
        )
        for group in groups
    )


def _largest(group: Sequence[Reading], name: str) -> float | None:
    values = (getattr(reading.figures, name) for reading in group)
    return max((value for value in values if value is not None), default=None)


def _since_first(readings: Sequence[Reading], name: str) -> list[float | None]:
    """A counter's growth since it was first seen, at each reading; None before that."""
    grown: list[float | None] = []
    before: float | None = None
    for reading in readings:
        value = getattr(reading.figures, name)
        last = grown[-1] if grown else None
        if value is None or before is None or last is None:
            grown.append(0.0 if value is not None and last is None else last)
        else:
            grown.append(last + increase((before, value)))
        before = before if value is None else value
    return grown
