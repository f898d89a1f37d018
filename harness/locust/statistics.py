"""Requests in Locust's own statistics.

A request is one row of type ``LLM``: its whole response time, the tokens of its answer in the place of bytes.
Times to the first token and per output token are rows of their own (``TTFT``, ``TPOT``), which Locust's total
leaves out, so that its rate is that of requests. Requests that were cut are in neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from harness.metrics import Missing, metric
from harness.series import series_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from locust.env import Environment

    from harness.locust.answer import Answer

REQUEST: Final = "LLM"
_ROWS: Final = {"TTFT": "ttft", "TPOT": "tpot"}
_MS: Final = 1e6


def count(
    environment: Environment, answer: Answer, name: str, loop: str, context: Mapping[str, Any] | None = None
) -> None:
    """Put a request that has ended into the statistics, and tell all listeners of it.

    Args:
        environment: Locust's.
        answer: What became of it.
        name: Of its rows.
        loop: ``open`` counts its times from when it was due, ``closed`` from when it was sent.
        context: Handed to listeners.
    """
    record = answer.record
    if not (record.outcome.succeeded or record.outcome.failed):
        return
    num_tokens = record.output_tokens or 0
    environment.events.request.fire(
        request_type=REQUEST,
        name=name,
        response_time=_ms(answer, "e2e", loop) or _until_done_ms(answer, loop),
        response_length=num_tokens,
        response=answer,
        context={**(context or {})},
        exception=answer.error,
    )
    if answer.ok:
        for kind, metric_name in _ROWS.items():
            value_ms = _ms(answer, metric_name, loop)
            if value_ms is not None:
                environment.stats.get(name, kind).log(value_ms, num_tokens)  # type: ignore[arg-type]  # Locust has it log fractions of ms itself


def _ms(answer: Answer, name: str, loop: str) -> float | None:
    values = metric(name).values(answer.record, series_of(name, None, loop).start_ns(answer.record))
    return None if isinstance(values, Missing) else float(values[0]) / _MS


def _until_done_ms(answer: Answer, loop: str) -> float:
    start_ns = series_of("e2e", None, loop).start_ns(answer.record)
    return (answer.record.done_ns - start_ns) / _MS
