"""The texts of a prompt, whatever its form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scenarios.request import Message, Prompt


def asked(prompt: Prompt) -> Iterator[str]:
    """The texts of its first turn."""
    if prompt.text is not None:
        yield prompt.text
    yield from (message.content for message in prompt.messages or ())


def contents(prompt: Prompt) -> Iterator[str]:
    """All its texts, scripted answers and later turns among them."""
    yield from asked(prompt)
    for follow_up in prompt.follow_ups:
        if follow_up.answer is not None:
            yield follow_up.answer
        yield from (message.content for message in follow_up.added)


def replaced(prompt: Prompt, new: Callable[[str], str]) -> Prompt:
    """The prompt with ``new`` of each of its texts."""

    def message(old: Message) -> Message:
        return structs.replace(old, content=new(old.content))

    return structs.replace(
        prompt,
        text=None if prompt.text is None else new(prompt.text),
        messages=None if prompt.messages is None else tuple(map(message, prompt.messages)),
        follow_ups=tuple(
            structs.replace(
                each,
                added=tuple(map(message, each.added)),
                answer=None if each.answer is None else new(each.answer),
            )
            for each in prompt.follow_ups
        ),
    )
