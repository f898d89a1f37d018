"""One request of a run, as a test sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import metrics
from harness.metrics import Missing, RequestMetric
from harness.pytest.span import Span
from harness.series import RESPONSE, series_of

if TYPE_CHECKING:
    from harness.record import Record


class Request:
    """Times count from when the request was due, as objectives do; None for what it doesn't have.

    Attributes:
        record: All that is known of it, in integer ns.
    """

    def __init__(self, record: Record, loop: str) -> None:
        self.record = record
        self._loop = loop

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.record.outcome.succeeded

    @property
    def outcome(self) -> str:
        """``ok``, ``timeout``, ``http_error``, ..."""
        return self.record.outcome.value

    @property
    def ttft(self) -> Span | None:
        """Time to the first token, ns."""
        return self._value("ttft")

    @property
    def tpot(self) -> Span | None:
        """Time per output token after the first, ns."""
        return self._value("tpot")

    @property
    def e2e(self) -> Span | None:
        """Time to the last token, ns."""
        return self._value("e2e")

    @property
    def output_tokens(self) -> int | None:
        """Length of the answer."""
        return self.record.output_tokens

    @property
    def prompt_tokens(self) -> int | None:
        """Length of the prompt."""
        return self.record.prompt_tokens

    @property
    def text(self) -> str | None:
        """The answer; kept for the scenario's first ``samples`` requests."""
        return self.record.answer

    def __repr__(self) -> str:
        failure = "" if self.ok else f" {self.record.detail} {self.record.message}"
        return f"<request {self.record.index} {self.outcome}{failure} ttft={self.ttft} tpot={self.tpot}>"

    def _value(self, name: str) -> Span | None:
        metric = metrics.metric(name)
        assert isinstance(metric, RequestMetric)
        value = metric.value(self.record, series_of(name, RESPONSE, self._loop).start_ns(self.record))
        return None if isinstance(value, Missing) else Span(value)
