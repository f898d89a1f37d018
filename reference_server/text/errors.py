"""What can be wrong with the text side of a model: ``TextError`` and its kinds.

- ``TokenizerError``: a tokenizer is missing, broken or of a kind that is not built.
- ``ChatTemplateError``: a chat template is broken, or refuses a conversation.
"""

from __future__ import annotations


class TextError(ValueError):
    """Names the fault and, where there is one, the remedy."""


class TokenizerError(TextError):
    """The tokenizer can't be loaded."""


class ChatTemplateError(TextError):
    """The template can't be read, or can't write this conversation. Fit to be shown to a client."""
