"""Prompt sources that make texts up: what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from scenarios.errors import ScenarioError
from scenarios.prompts import PromptSource
from scenarios.single_tokens import wording_of
from scenarios.wording import IN_WORDS

if TYPE_CHECKING:
    from scenarios.tokenizers import TokenCounter
    from scenarios.wording import Wording

NEEDS_TOKENIZER: Final = (
    "prompts: lengths in tokens need a tokenizer; write tokenizer: server (its own tokenize call), or name a "
    "tokenizer.json, a model's folder or a .gguf file; without one lengths are in words"
)


class MadeUpPrompts(PromptSource):
    """Texts of stated lengths.

    Attributes:
        unit: Of all lengths: ``words`` or ``tokens``. As the scenario's ``tokenizer`` counts if left out:
            tokens where there is one.
    """

    unit: Literal["words", "tokens"] | None = None

    def wording(self, counter: TokenCounter | None) -> Wording:
        """What makes the texts.

        Raises:
            ScenarioError: Lengths are to be in tokens and nobody counts them, or the counter can't.
        """
        if self.unit == "tokens" and counter is None:
            raise ScenarioError(NEEDS_TOKENIZER)
        return IN_WORDS if counter is None or self.unit == "words" else wording_of(counter)

    def length_notes(self, wording: Wording) -> tuple[str, ...]:
        """What the lengths are in, where they aren't in tokens."""
        if wording.in_tokens:
            return ()
        return (f"{self.source} prompts: lengths are exact in words; tokens are as the server counts them",)
