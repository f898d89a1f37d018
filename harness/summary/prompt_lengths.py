"""The server's count of each prompt against the length that the prompt was made with."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.record import Record


class PromptLengths:
    """How many tokens servers add: those of a chat template, the same for each prompt if all went well."""

    def __init__(self) -> None:
        self._added: Counter[int] = Counter()

    def add(self, record: Record) -> None:
        """Look at one request; it says nothing where one of the two counts is missing."""
        known = record.prompt_length is not None and record.usage_tokens is not None
        if known and record.prompt_length is not None and record.prompt_tokens is not None:
            self._added[record.prompt_tokens - record.prompt_length] += 1

    def state(self) -> dict[int, int]:
        """Requests by added tokens."""
        return dict(self._added)

    def merge(self, other: Mapping[int, int]) -> None:
        """Add the state of another."""
        self._added.update(other)

    def notes(self) -> Iterator[str]:
        """One sentence, or none where nothing is known."""
        if not self._added:
            return
        num, low, high = self._added.total(), min(self._added), max(self._added)
        if low == high == 0:
            yield f"the server counts in each of {num} prompts the tokens that the prompt was made with"
        elif low == high:
            yield (
                f"the server counts {_more(low)} in each of {num} prompts than it was made with: "
                "those of the chat template and the like"
            )
        else:
            yield (
                f"the server counts {_more(low)} to {_more(high)} in {num} prompts than their own texts "
                "have: the chat template and the like where messages are several, else another tokenizer"
            )


def _more(added: int) -> str:
    tokens = "token" if abs(added) == 1 else "tokens"
    return f"{abs(added)} {tokens} {'fewer' if added < 0 else 'more'}"
