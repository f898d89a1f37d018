"""Quantities that client and server both know, held against each other.

A difference is a remark, not a verdict: other clients may use the server, and other servers may stand behind
its address.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from harness.summary.in_flight import in_flight_at
from harness.telemetry.growth import counted, observed
from reports.server_telemetry import CheckVerdict, CrossCheck
from reports.units import quantity, significant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.summary.token_arrivals import IntArray
    from harness.telemetry.client_side import ClientSide
    from harness.telemetry.log import Reading

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

MIN_LOOKS: Final = 5
_COUNTS: Final = 0.01
_IN_FLIGHT: Final = 0.15
_LITTLE: Final = 0.2
_SIGMAS: Final = 3
_TTFT: Final = 0.02
_TTFT_NS: Final = 1e6
_MORE: Final = "others may be using the server, or it was still busy with earlier requests"
_FEWER: Final = "more than one server may stand behind the address"


class BothSides(NamedTuple):
    """What the checks are made of.

    Attributes:
        client: The client's counts.
        sent_ns: When each request was sent.
        done_ns: When it was over.
        ended_ns: When the run was.
        readings: Of the server, from before the run to after it.
    """

    client: ClientSide
    sent_ns: IntArray
    done_ns: IntArray
    ended_ns: int
    readings: Sequence[Reading]


def total_checks(both: BothSides) -> Iterator[CrossCheck]:
    """Those of counters and histograms, which need the readings before and after the run."""
    client = both.client
    generated = counted(both.readings, "generation_tokens")
    if generated is not None and not client.num_unknown_output:
        yield _tokens("output_tokens", client.output_tokens, generated, client)
    prompts = counted(both.readings, "prompt_tokens")
    if prompts is not None and not client.num_unknown_prompt:
        yield _tokens("prompt_tokens", client.prompt_tokens, prompts, client)
    if client.ttft_mean_ns is not None:
        yield from _times(both, client.ttft_mean_ns)


def _tokens(name: str, client: int, server: float, side: ClientSide) -> CrossCheck:
    agree = abs(server - client) <= max(_COUNTS * client, 0.5)
    whose = "received" if name == "output_tokens" else "had prompts answered of"
    message = f"the client {whose} {significant(client)} tokens, the server counted {significant(server)}"
    if not agree:
        message += f"; {_MORE if server > client else _FEWER}"
        message += f", and {side.num_unfinished} requests failed or were cut" if side.num_unfinished else ""
    if name == "output_tokens" and side.num_estimated:
        message += "; the client's count is an estimate"
    return _check(name, "tokens", client, server, message, agree=agree)


def _times(both: BothSides, client_ns: float) -> Iterator[CrossCheck]:
    """A first token can't reach the client before the server has it."""
    shown = quantity(client_ns, "ns", 3)
    at_most_ns = client_ns * (1 + _TTFT) + _TTFT_NS
    if ttft := observed(both.readings, "ttft"):
        server_ns = ttft.sum_s / ttft.count * 1e9
        agree = server_ns <= at_most_ns
        message = f"mean TTFT is {shown} at the client and {quantity(server_ns, 'ns', 3)} within the server"
        if not agree:
            message += (
                f", over {significant(both.client.num_ttft)} and {significant(ttft.count)} requests; {_MORE}"
            )
        yield _check("ttft", "ns", client_ns, server_ns, message, agree=agree)
    if queue := observed(both.readings, "queue_time"):
        server_ns = queue.sum_s / queue.count * 1e9
        agree = server_ns <= at_most_ns
        share = quantity(server_ns / client_ns, "share", 3) if client_ns else "all"
        message = f"the mean wait in the server's queue is {quantity(server_ns, 'ns', 3)}, {share} of the "
        message += f"client's mean TTFT of {shown}" + ("" if agree else f"; {_MORE}")
        yield _check("queue_time", "ns", client_ns, server_ns, message, agree=agree)


def looks_in_run(both: BothSides) -> list[Reading]:
    """The readings while requests were sent that tell how many are in the server."""
    inside = (reading for reading in both.readings if 0 <= reading.at_ns <= both.ended_ns)
    return [reading for reading in inside if reading.figures.running is not None]


def in_flight_checks(both: BothSides) -> Iterator[CrossCheck]:
    """Those of requests in flight; none for fewer than ``MIN_LOOKS`` looks during the run."""
    looks = looks_in_run(both)
    if len(looks) < MIN_LOOKS or not both.sent_ns.size:
        return
    inside = np.array([(each.figures.running or 0) + (each.figures.waiting or 0) for each in looks])
    at_ns = np.array([each.at_ns for each in looks], np.int64)
    yield _in_flight(in_flight_at(both.sent_ns, both.done_ns, at_ns), inside)
    yield _little(both, inside)


def _in_flight(outside: IntArray, inside: FloatArray) -> CrossCheck:
    client, server = float(outside.mean()), float(inside.mean())
    agree = abs(server - client) <= max(1.0, _IN_FLIGHT * client, _chance(inside - outside))
    message = (
        f"at the same {inside.size} instants the client had {significant(client, 3)} requests in flight and "
        f"the server {significant(server, 3)} running or waiting{_why(client, server, agree=agree)}"
    )
    return _check("in_flight", "requests", client, server, message, agree=agree)


def _little(both: BothSides, inside: FloatArray) -> CrossCheck:
    server = float(inside.mean())
    num, seconds = both.sent_ns.size, both.ended_ns / 1e9
    e2e_ns = float((both.done_ns - both.sent_ns).mean())
    client = num / seconds * e2e_ns / 1e9
    agree = abs(server - client) <= max(1.0, _LITTLE * client, _chance(inside))
    message = (
        f"{significant(num / seconds, 3)} requests/s of {quantity(e2e_ns, 'ns', 3)} each make "
        f"{significant(client, 3)} in flight by Little's law; the server had {significant(server, 3)} "
        f"running or waiting in {inside.size} looks{_why(client, server, agree=agree)}"
    )
    return _check("littles_law", "requests", client, server, message, agree=agree)


def _chance(values: FloatArray) -> float:
    """How far their mean may be off by chance."""
    return _SIGMAS * float(values.std(ddof=1)) / math.sqrt(values.size)


def _why(client: float, server: float, *, agree: bool) -> str:
    if agree:
        return ""
    fewer = f"requests may be waiting on the way, or {_FEWER}"
    return f"; {_MORE if server > client else fewer}"


def _check(name: str, unit: str, client: float, server: float, message: str, *, agree: bool) -> CrossCheck:
    return CrossCheck(
        name=name,
        unit=unit,
        client=client,
        server=server,
        ratio=server / client if client else None,
        verdict=CheckVerdict.OK if agree else CheckVerdict.DIFFERS,
        message=message,
    )
