"""Loaders of the text side: one file for each place where a tokenizer may lie, found by itself.

A loader file offers

- ``accepts(model: str) -> bool``: whether the path or name is of its kind, cheaply;
- ``load(model: str) -> TextSide``: tokenizer and chat template; raises ``TextError`` if they are broken.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.extensions import extension_names, load_extension
from reference_server.text.errors import TokenizerError

if TYPE_CHECKING:
    from reference_server.text.chat_template import ChatTemplate
    from reference_server.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TextSide:
    """What the HTTP side needs of a model.

    Attributes:
        tokenizer: Its tokenizer.
        chat_template: None if the model has none.
    """

    tokenizer: Tokenizer
    chat_template: ChatTemplate | None


def load_text_side(model: str) -> TextSide:
    """Read tokenizer and chat template of a model.

    Args:
        model: Path of a ``.gguf`` file or of a Hugging Face folder, or ``tiny-random``.

    Raises:
        TextError: Nothing fitting is there, or it is broken or of a kind that is not built.
        CheckpointError: A GGUF file can't be read.
    """
    package = sys.modules[__name__]
    for name in extension_names(package):
        loader = load_extension(package, name)
        if loader.accepts(model):
            return loader.load(model)  # type: ignore[no-any-return]  # a module found by name is untyped
    raise TokenizerError(
        f"no tokenizer at {model!r}; give a .gguf file, a Hugging Face folder with tokenizer.json, "
        "or the name tiny-random"
    )
