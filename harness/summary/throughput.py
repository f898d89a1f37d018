"""What arrived inside the measured window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.counting import Counting
from harness.rates import UNITS
from harness.record import Outcome
from harness.summary.token_arrivals import token_arrivals
from reports.result import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.record import Record
    from harness.window import Window

IN_WARM_UP = "the run ended before the measured window began"


class Throughput(Counting):
    """Counts of requests and tokens by their arrival, for rates.

    A request counts when its answer was complete, its prompt when its first token came. Tokens of a request
    that the end of the run cut off count; those of a failed request don't. Where only the end of an answer
    tells the length of its prompt, the prompts of answers that were cut off or cancelled are left out.
    """

    counted = (
        "_requests",
        "_output_tokens",
        "_input_tokens",
        "_unknown_output",
        "_unknown_input",
        "_unfinished_input",
    )

    def __init__(self, window: Window) -> None:
        self._window = window
        self._requests = 0
        self._output_tokens = 0
        self._input_tokens = 0
        self._unknown_output = 0
        self._unknown_input = 0
        self._unfinished_input = 0

    def add(self, record: Record) -> None:
        """Count what of the request lies inside the window."""
        if record.outcome.failed:
            return
        if record.outcome.succeeded and self._window.contains(record.done_ns):
            self._requests += 1
            self._unknown_output += record.output_tokens is None and record.outcome is not Outcome.OK_EMPTY
        self._add_prompt(record)
        self._add_output(record)

    def _add_prompt(self, record: Record) -> None:
        arrival = record.chunk_ns[0] if record.chunk_ns else record.done_ns
        if not self._window.contains(arrival) or not (record.chunk_ns or record.outcome.succeeded):
            return
        self._input_tokens += record.prompt_tokens or 0
        if record.prompt_tokens is None:
            self._unknown_input += record.outcome.succeeded
            self._unfinished_input += not record.outcome.succeeded

    def _add_output(self, record: Record) -> None:
        ends_ns = record.chunk_ns or [record.done_ns]
        if self._window.contains(ends_ns[0]) and self._window.contains(ends_ns[-1]):
            self._output_tokens += record.output_tokens or 0
        else:
            self._output_tokens += sum(
                int(tokens)
                for at_ns, tokens in zip(*token_arrivals(record), strict=True)
                if self._window.contains(int(at_ns))
            )

    def rates(self, window_ns: int) -> tuple[Rate, ...]:
        """Request rate and token rates over a window of that length."""
        return (
            per_second("request_rate", self._requests, window_ns),
            self._token_rate("output_token_rate", self._output_tokens, self._unknown_output, window_ns),
            self._token_rate("input_token_rate", self._input_tokens, self._unknown_prompts, window_ns),
        )

    @property
    def _unknown_prompts(self) -> int:
        """Prompts for which the rate can't be known: those left out too, where there are no others."""
        return self._unknown_input or (0 if self._input_tokens else self._unfinished_input)

    def notes(self) -> Iterator[str]:
        """What the rates leave out."""
        if self._unfinished_input and not self._unknown_prompts:
            yield (
                f"the prompts of {self._unfinished_input} requests that were cut off or cancelled have an "
                "unknown number of tokens: left out of input_token_rate"
            )

    @staticmethod
    def _token_rate(name: str, tokens: int, num_unknown: int, window_ns: int) -> Rate:
        if num_unknown:
            reason = f"{num_unknown} requests have an unknown number of tokens"
            return Rate(name=name, unit=UNITS[name], value=None, numerator=tokens, reason=reason)
        return per_second(name, tokens, window_ns)


def per_second(name: str, count: int, window_ns: int) -> Rate:
    """``count`` over a window of that length; None where it has no length."""
    seconds = window_ns / 1e9
    return Rate(
        name=name,
        unit=UNITS[name],
        value=count / seconds if window_ns else None,
        numerator=count,
        denominator=seconds,
        reason=None if window_ns else IN_WARM_UP,
    )
