"""A prompt that is given back in front of its output."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from reference_server.api.logprobs import PlacedLogprob
from reference_server.engine.request import TokenLogprob
from reference_server.text.detokenizer import IncrementalDetokenizer

if TYPE_CHECKING:
    from reference_server.text.tokenizer import Tokenizer


@dataclasses.dataclass(frozen=True, slots=True)
class Echo:
    """The prompt as it is shown.

    Attributes:
        text: As it was given, or that of its tokens.
        token_ids: Its tokens, those that the tokenizer added among them.
        offsets: Where the text of each begins, in characters.
        num_chars: Of all tokens; the output begins there.
    """

    text: str
    token_ids: list[int]
    offsets: list[int]
    num_chars: int

    def placed(self, scores: list[TokenLogprob]) -> list[PlacedLogprob]:
        """The log-probabilities of all tokens; the first has none, as nothing comes before it."""
        first = PlacedLogprob(TokenLogprob(self.token_ids[0], 0.0), self.offsets[0], is_known=False)
        return [first, *map(PlacedLogprob, scores, self.offsets[1:])]


def echo_of(tokenizer: Tokenizer, token_ids: list[int], given: str | None) -> Echo:
    """The echo of a prompt of at least one token; ``given`` is its text, None where only tokens are known."""
    detokenizer = IncrementalDetokenizer(tokenizer, skip_special_tokens=False)
    offsets, parts, num_chars = [], [], 0
    for token_id in token_ids:
        offsets.append(num_chars)
        parts.append(detokenizer.push(token_id))
        num_chars += len(parts[-1])
    text = "".join(parts) + detokenizer.flush()
    return Echo(text if given is None else given, token_ids, offsets, num_chars)
