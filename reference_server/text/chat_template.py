"""Chat templates: a conversation as the text that the model was trained on, by the model's own template."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reference_server.text.errors import ChatTemplateError
from reference_server.text.messages import plain_messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import nodes
    from jinja2.parser import Parser

__all__ = ["ChatTemplate", "ChatTemplateError"]


class ChatTemplate:
    """A template in the dialect of Hugging Face, run in a sandbox.

    Args:
        source: Jinja text.
        special_tokens: Texts that templates use: ``bos_token``, ``eos_token`` and the like.

    Raises:
        ChatTemplateError: The text is no template.
    """

    def __init__(self, source: str, special_tokens: Mapping[str, str] | None = None) -> None:
        self._special_tokens = dict(special_tokens or {})
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise ChatTemplateError(f"it is broken in line {error.lineno}: {error.message}") from error

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        **kwargs: Any,  # noqa: ANN401  # whatever the template knows
    ) -> str:
        """The conversation as text.

        Args:
            messages: Each with ``role`` and mostly ``content``: a string, None, or a list of text parts, to
                be joined by line breaks.
            add_generation_prompt: End with what makes the model answer.
            continue_final_message: End inside the last message, for the model to go on with it.
            **kwargs: Variables for the template, such as ``tools``.

        Raises:
            ChatTemplateError: The template refuses the conversation, or it can't be written.
        """
        plain = plain_messages(messages)
        if continue_final_message and add_generation_prompt:
            raise ChatTemplateError("continue_final_message and add_generation_prompt exclude each other")
        variables = {"tools": None, "documents": None, **self._special_tokens, **kwargs}
        text = self._render(messages=plain, add_generation_prompt=add_generation_prompt, **variables)
        return _cut_after_content(text, plain) if continue_final_message else text

    def _render(self, **variables: Any) -> str:  # noqa: ANN401  # as above
        try:
            return self._template.render(**variables)
        except ChatTemplateError:
            raise
        except jinja2.TemplateError as error:
            raise ChatTemplateError(error.message or type(error).__name__) from error
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            raise ChatTemplateError(f"it can't write these messages ({error})") from error


def _cut_after_content(text: str, messages: Sequence[Mapping[str, Any]]) -> str:
    content = messages[-1].get("content") if messages else None
    if not isinstance(content, str) or not content.strip():
        raise ChatTemplateError("continue_final_message needs a last message with content")
    begin = text.rfind(content.strip())
    if begin < 0:
        raise ChatTemplateError("the template changes the last message, so it can't be continued")
    wanted = text[begin:].startswith(content.lstrip())
    return text[: begin + len(content.lstrip() if wanted else content.strip())]


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


class _GenerationTag(Extension):
    """``{% generation %}`` marks what the model wrote, for training; here its content is just written."""

    tags = {"generation"}  # noqa: RUF012  # the base class says set

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(
    value: Any,  # noqa: ANN401  # whatever the template holds
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Without jinja's own escaping of HTML."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise ChatTemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)  # noqa: DTZ005  # templates mean the local date
