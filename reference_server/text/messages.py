"""Messages of a conversation, as chat templates take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.text.errors import ChatTemplateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TEXT_PARTS = ("text", "input_text", "output_text")
_SHOWN = 64


def plain_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Copies in which lists of text parts are one text, joined by line breaks.

    Raises:
        ChatTemplateError: A part is no text.
    """
    return [_plain(message) for message in messages]


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    return {**message, "content": "\n".join(_text_of(part) for part in content)}


def _text_of(part: Any) -> str:  # noqa: ANN401  # as it came
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
    if kind not in _TEXT_PARTS or not isinstance(part.get("text"), str):
        raise ChatTemplateError(
            f"a content part of type {str(kind)[:_SHOWN]!r} can't be read here; send text"
        )
    return str(part["text"])
