"""The server's own figures in words, for every output alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from reports.server_telemetry import CheckVerdict
from reports.units import MISSING, quantity, significant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.server_telemetry import CrossCheck, ServerPoint, ServerTelemetry

TITLES = {
    "output_tokens": "Output tokens",
    "prompt_tokens": "Prompt tokens",
    "in_flight": "Requests in flight",
    "littles_law": "Little's law",
    "ttft": "Mean time to first token",
    "queue_time": "Queue time in mean TTFT",
}


@dataclasses.dataclass(frozen=True)
class CheckLine:
    """A cross-check, written."""

    name: str
    title: str
    verdict: str
    client: str
    server: str
    ratio: str
    message: str


def check_line(check: CrossCheck) -> CheckLine:
    """``check`` with values and ratio as a reader wants them."""
    return CheckLine(
        name=check.name,
        title=TITLES.get(check.name, check.name),
        verdict=check.verdict.value,
        client=quantity(check.client, check.unit),
        server=quantity(check.server, check.unit),
        ratio=MISSING if check.ratio is None else significant(check.ratio, 3),
        message=check.message,
    )


def figures(server: ServerTelemetry) -> Iterator[tuple[str, str]]:
    """Name and value of each figure that the server offers."""
    peaks = {name: peak(server.points, name) for name in ("running", "waiting", "kv_usage")}
    rows = (
        ("Running at most", peaks["running"], ""),
        ("Waiting at most", peaks["waiting"], ""),
        ("KV cache at most", peaks["kv_usage"], "share"),
        ("Prefix cache hits", server.prefix_cache_hit_rate, "share"),
        ("Preemptions", server.preemptions, ""),
        ("Mean TTFT", server.ttft_mean, "ns"),
        ("Mean queue time", server.queue_time_mean, "ns"),
        ("Mean inter-token latency", server.itl_mean, "ns"),
    )
    if server.num_looks == 0:
        yield "Requests and KV cache", "not looked at during the run"
    yield from ((name, quantity(value, unit, 3)) for name, value, unit in rows if value is not None)


def peak(points: tuple[ServerPoint, ...], name: str) -> float | None:
    """The largest value over the run, None where the server doesn't say."""
    values = (getattr(point, name) for point in points)
    return max((value for value in values if value is not None), default=None)


def summary_lines(server: ServerTelemetry | None) -> Iterator[str]:
    """At most two lines: the server's figures, and how they agree with the client's."""
    if server is None:
        return
    words = (
        f"{name[0].lower() if name[:2] != 'KV' else 'K'}{name[1:]} {value}" for name, value in figures(server)
    )
    yield f"{server.dialect}: " + (", ".join(words) or "no figures")
    if server.checks:
        differ = [check.name for check in server.checks if check.verdict is CheckVerdict.DIFFERS]
        agree = len(server.checks) - len(differ)
        checks = f"{agree} of {len(server.checks)} cross-checks with the client agree"
        yield checks + (f"; these differ: {', '.join(differ)}" if differ else "")
