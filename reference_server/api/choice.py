"""One choice of an answer: engine outputs in, pieces of text out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from reference_server.api.logprobs import PlacedLogprob
from reference_server.api.timing import Timing

if TYPE_CHECKING:
    from reference_server.api.echo import Echo
    from reference_server.engine.request import EngineOutput, EngineRequest, TokenLogprob
    from reference_server.text.detokenizer import IncrementalDetokenizer
    from reference_server.text.stop_strings import StopStrings


@dataclasses.dataclass(slots=True)
class Delta:
    """What is new in a choice and can be shown.

    Attributes:
        index: Of the choice.
        text: Whole characters only.
        token_ids: Tokens since the last delta.
        logprobs: One per token, if asked for.
        finish_reason: In the last delta.
        stop_reason: The stop string or stop token that ended it.
    """

    index: int
    text: str
    token_ids: list[int]
    logprobs: list[PlacedLogprob]
    finish_reason: str | None = None
    stop_reason: str | int | None = None


class Choice:
    """Turns the tokens of one sequence into text, and ends it at a stop string.

    Args:
        index: Its place in the answer.
        request: What the engine is asked.
        detokenizer: Fresh.
        stop_strings: Fresh; None if there are none.
        keep_stop_token: Show the stop token's text as well.
        show_every_token: A delta for each output, even without text.
        echo: The prompt, shown in front.

    Attributes:
        prompt_logprobs: Of the prompt's tokens after the first, once they are known.
    """

    def __init__(
        self,
        index: int,
        request: EngineRequest,
        detokenizer: IncrementalDetokenizer,
        stop_strings: StopStrings | None,
        *,
        keep_stop_token: bool = False,
        show_every_token: bool = False,
        echo: Echo | None = None,
    ) -> None:
        self.index = index
        self.request = request
        self.timing = Timing(request.arrival_ns)
        self.num_cached_tokens = 0
        self.num_preemptions = 0
        self.finish_reason: str | None = None
        self._detokenizer = detokenizer
        self._stop_strings = stop_strings
        self._keep_stop_token = keep_stop_token
        self._show_every_token = show_every_token
        self.prompt_logprobs: list[TokenLogprob] | None = None
        self._echo = echo
        self._num_chars = 0 if echo is None else echo.num_chars
        self._unseen = Delta(index, "", [], [])

    @property
    def num_tokens(self) -> int:
        """Output tokens so far."""
        return self.timing.num_tokens

    def take(self, output: EngineOutput) -> Delta | None:
        """Take an output in; None while there is nothing to show."""
        self.num_cached_tokens, self.num_preemptions = output.num_cached_tokens, output.num_preemptions
        self.finish_reason, self._unseen.stop_reason = output.finish_reason, output.stop_reason
        text = self._take_prompt(output) + self._take_tokens(output)
        if self.finish_reason is not None and not self._stopped_by_string:
            text += self._flush()
        return self._show(text, has_tokens=bool(output.token_ids))

    def _take_prompt(self, output: EngineOutput) -> str:
        """Before the first token: what of the prompt is to be shown."""
        if output.prompt_logprobs is not None:
            self.prompt_logprobs = output.prompt_logprobs
        echo, self._echo = self._echo, None
        if echo is None:
            return ""
        if self.prompt_logprobs is not None and self.request.sampling.logprobs is not None:
            self._unseen.logprobs += echo.placed(self.prompt_logprobs)
        return echo.text

    def _take_tokens(self, output: EngineOutput) -> str:
        parts = []
        stop_token = len(output.token_ids) - 1 if output.finish_reason == "stop" else None
        for position, token_id in enumerate(output.token_ids):
            self.timing.num_tokens += 1
            self._unseen.token_ids.append(token_id)
            if output.logprobs:
                self._unseen.logprobs.append(PlacedLogprob(output.logprobs[position], self._num_chars))
            if position != stop_token or self._keep_stop_token:
                parts.append(self._release(self._detokenizer.push(token_id)))
            if self._stopped_by_string:
                break
        return "".join(parts)

    def _release(self, text: str) -> str:
        """What of ``text`` can be shown: all, or all that can't belong to a stop string."""
        self._num_chars += len(text)
        if self._stop_strings is None or self.num_tokens <= self.request.sampling.min_tokens:
            return text
        released = self._stop_strings.push(text)
        if self._stop_strings.matched is not None:
            self.finish_reason, self._unseen.stop_reason = "stop", self._stop_strings.matched
        return released

    def _flush(self) -> str:
        text = self._release(self._detokenizer.flush())
        if self._stop_strings is not None and not self._stopped_by_string:
            text += self._stop_strings.flush()
        return text

    def _show(self, text: str, *, has_tokens: bool) -> Delta | None:
        ends = self.finish_reason is not None
        if not text and not ends and not (self._show_every_token and has_tokens):
            return None
        shown, self._unseen = self._unseen, Delta(self.index, "", [], [])
        shown.text, shown.finish_reason = text, self.finish_reason
        return shown

    @property
    def _stopped_by_string(self) -> bool:
        return isinstance(self._unseen.stop_reason, str)
