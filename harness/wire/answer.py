"""What an answer has borne so far: its tokens with their times, its end, its faults."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast

from harness.wire import Kind
from harness.wire.aside import Aside
from harness.wire.finish_reason import worse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.wire import Delta, Usage

_REASONING = Kind.REASONING


class Answer:
    """Gathered from deltas in order of arrival. Times in ns of the monotonic clock.

    Args:
        keep_text: Keep the text.
        asked_stream: Whether a stream was asked for.

    Attributes:
        chunk_ns: Arrival of each token-bearing event.
        usage: The last that was said of each count; None where nothing was.
        has_odd_usage: True where the last usage is no count of tokens, and so is left out.
        finish_reason: As the server said; one that means a failure isn't taken back by another choice's.
        done_ns: When ``[DONE]`` or the event that is the last by its form came, None if neither has.
        error: The server's message, if it reported a failure in its answer.
        aside: What the server said beside the form since the last token.
        fault: What is wrong with the form of the answer: sub-class and message.
        has_choices: True once any choice came.
        streamed: False for a reply in one piece.
        asked_stream: False where one piece was all that was asked for.
        num_bytes: Of the body.
    """

    def __init__(self, keep_text: bool, asked_stream: bool = True) -> None:
        self.chunk_ns: list[int] = []
        self.usage: Usage | None = None
        self.has_odd_usage = False
        self.finish_reason: str | None = None
        self.done_ns: int | None = None
        self.error: str | None = None
        self.aside: Aside | None = None
        self.fault: tuple[str, str] | None = None
        self.has_choices = False
        self.streamed = True
        self.asked_stream = asked_stream
        self.num_bytes = 0
        self._texts: list[tuple[str, Kind]] | None = [] if keep_text else None
        self._counts: list[int | None] = []
        self._num_counted = 0
        self._running: list[int] = []
        self._all_token_ids = True
        self._answer_index: int | None = None
        self._has_reasoning = False
        self._has_text = False

    def take(self, stamp_ns: int, delta: Delta) -> None:
        """Add what one event bears; it came at ``stamp_ns``. What comes after the end bears nothing."""
        if self.done_ns is not None:
            return
        if delta.kind is not None:
            self._take_tokens(stamp_ns, delta, delta.kind)
        if delta.aside is not None and self.aside is None:
            self.aside = Aside(delta.aside, True)
        if delta.has_choices:
            self.has_choices = True
        if delta.usage is not None:
            self.usage, self.has_odd_usage = delta.usage.after(self.usage), False
        elif delta.has_odd_usage:
            self.has_odd_usage = True
        if delta.finish_reason is not None:
            self.finish_reason = worse(self.finish_reason, delta.finish_reason)
        if delta.error is not None and self.error is None:
            self.error = delta.error
        if delta.is_last and self.streamed:
            self.done_ns = stamp_ns

    def take_many(self, stamps_ns: Sequence[int], borne: Sequence[Delta | str]) -> None:
        """Add what the events of a stream bear, as ``Endpoint.decode_many`` says it, each at its stamp."""
        at = 0
        for kind, group in itertools.groupby(borne, type):
            some = list(group)
            if kind is str:
                self._take_texts(stamps_ns[at : at + len(some)], cast("list[str]", some))
            else:
                for stamp_ns, delta in zip(stamps_ns[at:], cast("list[Delta]", some), strict=False):
                    self.take(stamp_ns, delta)
            at += len(some)

    @property
    def is_open(self) -> bool:
        """False once the end, or a fault, has come: what follows doesn't count."""
        return self.done_ns is None and self.fault is None

    @property
    def has_token(self) -> bool:
        """True once a token has come, in whatever form."""
        return bool(self.chunk_ns) or self._has_text

    @property
    def is_empty(self) -> bool:
        """True if no token has come and the server's usage counts none."""
        return not self.has_token and not (self.usage is not None and self.usage.completion_tokens)

    @property
    def num_coalesced(self) -> int:
        """Chunks that came in the same read as the one before, and so have its stamp."""
        return len(self.chunk_ns) - len(set(self.chunk_ns))

    @property
    def answer_index(self) -> int | None:
        """Index of the first chunk of the answer itself. All is answer where nothing is thought aloud."""
        if not self._has_reasoning and self._answer_index is not None:
            return 0
        return self._answer_index

    @property
    def has_token_ids(self) -> bool:
        """True if every chunk came with its token ids."""
        return bool(self.chunk_ns) and self._all_token_ids

    @property
    def text(self) -> str | None:
        """The text, where it was to be kept."""
        return None if self._texts is None else "".join(text for text, _ in self._texts)

    @property
    def said(self) -> str | None:
        """The text without what was thought aloud, where text was to be kept."""
        if self._texts is None:
            return None
        return "".join(text for text, kind in self._texts if kind is not _REASONING)

    @property
    def texts(self) -> list[str]:
        """What was thought aloud, and what was said: those that aren't empty, where text was kept."""
        thoughts = "".join(text for text, kind in self._texts or () if kind is _REASONING)
        return [text for text in (thoughts, self.said) if text]

    def chunk_tokens(self) -> tuple[list[int], bool]:
        """Tokens in each chunk, and whether that is exact or assumed to be one each.

        Exact by token ids or log-probabilities if every chunk has them, else by a usage that runs along
        with every chunk.
        """
        if self._num_counted == len(self.chunk_ns):
            return [count for count in self._counts if count is not None], bool(self.chunk_ns)
        if len(self._running) == len(self.chunk_ns):
            before = [0, *self._running]
            steps = [now - then for then, now in zip(before, self._running, strict=False)]
            if min(steps) > 0:
                return steps, True
        if not self._num_counted:
            return [1] * len(self.chunk_ns), False
        return [count or 1 for count in self._counts], False

    def _take_texts(self, stamps_ns: Sequence[int], texts: list[str]) -> None:
        """Add tokens of the answer of which only the text is known."""
        if self.done_ns is not None:
            return
        if self._texts is not None:
            self._texts += ((text, Kind.ANSWER) for text in texts)
        if self._answer_index is None:
            self._answer_index = len(self.chunk_ns)
        self.aside = None
        self.chunk_ns += stamps_ns
        self._counts += [None] * len(texts)
        self._all_token_ids = False
        self.has_choices = True

    def _take_tokens(self, stamp_ns: int, delta: Delta, kind: Kind) -> None:
        if self._texts is not None:
            self._texts.append((delta.text, kind))
        if not self.streamed:
            self._has_text = self._has_text or bool(delta.text)
            return
        self.aside = None
        if kind is _REASONING:
            self._has_reasoning = True
        elif self._answer_index is None and kind is not Kind.SILENT:
            self._answer_index = len(self.chunk_ns)
        self.chunk_ns.append(stamp_ns)
        self._counts.append(delta.num_tokens)
        self._num_counted += delta.num_tokens is not None
        if not delta.has_token_ids:
            self._all_token_ids = False
        if delta.usage is not None and delta.usage.completion_tokens is not None:
            self._running.append(delta.usage.completion_tokens)
