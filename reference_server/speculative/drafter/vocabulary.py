"""Whether two models mean the same by their token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.speculative import SpeculativeConfigError
from reference_server.text.errors import TextError
from reference_server.text.load import load_tokenizer

if TYPE_CHECKING:
    from reference_server.speculative import Target
    from reference_server.text.tokenizer import Tokenizer

_REMEDY = "take a draft model of the target's own family, or the method ngram or suffix"


def check_vocabulary(model: str, vocab_size: int, target: Target) -> None:
    """Refuse a draft model whose token ids are others than the target's.

    A draft model that brings no tokenizer, such as some layers of the target, is judged by the size alone.

    Raises:
        SpeculativeConfigError: They differ.
    """
    if vocab_size != target.vocab_size:
        raise SpeculativeConfigError(
            f"the draft model {model} has {vocab_size} token ids, but the target has {target.vocab_size}; "
            f"{_REMEDY}"
        )
    if model == target.config.model or (drafts := _tokenizer(model)) is None:
        return
    if (own := _tokenizer(target.config.model)) is None:
        return
    for token_id in range(vocab_size):
        if drafts.token_bytes(token_id) != own.token_bytes(token_id):
            raise SpeculativeConfigError(
                f"token {token_id} is {drafts.token_text(token_id)!r} for the draft model {model}, but "
                f"{own.token_text(token_id)!r} for the target; {_REMEDY}"
            )


def _tokenizer(model: str) -> Tokenizer | None:
    try:
        return load_tokenizer(model)
    except TextError:
        return None
