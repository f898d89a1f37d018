"""What the client counted in a whole run, warm-up included, to be held against the server's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.counting import Counting
from harness.record import Outcome, TokenSource

if TYPE_CHECKING:
    from harness.record import Record

_ESTIMATES = (TokenSource.CHUNKS, TokenSource.TOKENIZER)


class ClientSide(Counting):
    """Takes every record of a run.

    Attributes:
        output_tokens: Received, by requests of any outcome.
        prompt_tokens: Of requests that succeeded or got a token.
        num_unknown_output: Requests that succeeded with an unknown number of output tokens.
        num_unknown_prompt: Requests with an unknown number of prompt tokens.
        num_unfinished: Requests that were sent and didn't succeed.
        num_estimated: Requests whose output tokens are an estimate.
        num_ttft: Requests with a first token.
        ttft_sum_ns: Their times from sending to the first token.
    """

    counted = (
        "output_tokens",
        "prompt_tokens",
        "num_unknown_output",
        "num_unknown_prompt",
        "num_unfinished",
        "num_estimated",
        "num_ttft",
        "ttft_sum_ns",
    )

    def __init__(self) -> None:
        self.output_tokens = self.prompt_tokens = 0
        self.num_unknown_output = self.num_unknown_prompt = 0
        self.num_unfinished = self.num_estimated = 0
        self.num_ttft = self.ttft_sum_ns = 0

    def add(self, record: Record) -> None:
        """Take one request."""
        succeeded = record.outcome.succeeded
        self.num_unfinished += not succeeded and record.sent_ns is not None
        self.output_tokens += record.output_tokens or 0
        self.num_estimated += record.token_source in _ESTIMATES
        self.num_unknown_output += record.output_tokens is None and record.outcome is Outcome.OK
        if succeeded or record.chunk_ns:
            self.prompt_tokens += record.prompt_tokens or 0
            self.num_unknown_prompt += record.prompt_tokens is None
        if record.chunk_ns and record.sent_ns is not None:
            self.num_ttft += 1
            self.ttft_sum_ns += record.chunk_ns[0] - record.sent_ns

    @property
    def ttft_mean_ns(self) -> float | None:
        """Mean time to first token on the service basis; None without a token."""
        return self.ttft_sum_ns / self.num_ttft if self.num_ttft else None
