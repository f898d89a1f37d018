"""Servers that count words, each in its own dialect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.json_server import JsonServer, serving

Answer = Callable[[str, dict[str, Any]], tuple[int, Any]]
"""From path and body to status and JSON."""


class CountingServer(JsonServer):
    """Answers POST requests.

    Attributes:
        asked: Path, body and authorisation of each request.
    """

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.answer = answer
        super().__init__()

    def reply_to(self, path: str, body: Any, authorization: str | None) -> tuple[int, Any]:
        """See ``JsonServer``."""
        self.asked.append((path, body, authorization))
        return self.answer(path, body)


@pytest.fixture
def counting() -> Iterator[Callable[[Answer], CountingServer]]:
    """Start servers; they stop with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(CountingServer(answer)))
