"""Messages of a data set have keys beside role and content: what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scenarios.tally import Tally

_SENT: Final = ("role", "content")
_OF_TOOLS: Final = ("tool_calls", "tool_call_id", "function_call")


def check_keys(place: str, messages: Iterable[Mapping[str, Any]], tally: Tally) -> None:
    """Count the keys that aren't sent.

    Raises:
        ScenarioError: Without such a key the message would mean another thing.
    """
    for message in messages:
        for key in (key for key, value in message.items() if key not in _SENT and value):
            if key in _OF_TOOLS:
                raise ScenarioError(f"{place}: a message with {key}; only role and content can be sent")
            tally.add(f"messages sent without their {key}")
