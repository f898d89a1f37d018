"""Tokenizer and chat template by the path or name of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.text.loaders import load_text_side

if TYPE_CHECKING:
    from reference_server.text.chat_template import ChatTemplate
    from reference_server.text.tokenizer import Tokenizer


def load_text(model: str) -> tuple[Tokenizer, ChatTemplate | None]:
    """Both at once, the file read once; None for a model without a template.

    Args:
        model: As the engine's settings name it: path of a ``.gguf`` file or of a Hugging Face folder, or
            ``tiny-random``.

    Raises:
        TextError: Nothing fitting is there, or it is broken or of a kind that is not built.
        CheckpointError: A GGUF file can't be read.
    """
    side = load_text_side(model)
    return side.tokenizer, side.chat_template


def load_tokenizer(model: str) -> Tokenizer:
    """The tokenizer alone; raises as :func:`load_text` does."""
    return load_text_side(model).tokenizer
