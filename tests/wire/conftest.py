"""Answers from scripts: what a server would have sent, and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.client import Client, Prepared
from harness.exchange import Exchange
from harness.record import Record
from harness.target import Target
from harness.timeline import End
from harness.transport import HttpRequest
from scenarios.request import Arrival, Prompt
from scenarios.timeouts import Timeouts

Reads = list[tuple[float, bytes]]
"""What came, each with its time in ms after the start of the run."""

RecordOf = Callable[..., Record]
STREAM = "text/event-stream; charset=utf-8"


def event(data: dict[str, Any] | str) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def delta(finish_reason: str | None = None, usage: dict[str, Any] | None = None, **fields: Any) -> bytes:
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return event({"choices": [choice], **({} if usage is None else {"usage": usage})})


def text(content: str, finish_reason: str | None = None, **choice: Any) -> bytes:
    fields = {"index": 0, "delta": {"content": content}, "finish_reason": finish_reason, **choice}
    return event({"choices": [fields]})


def usage(**counts: Any) -> bytes:
    return event({"choices": [], "usage": counts})


ROLE = delta(role="assistant", content=None)
STOP = delta(finish_reason="stop")
LENGTH = delta(finish_reason="length")
DONE = event("[DONE]")


@pytest.fixture
def record_of() -> RecordOf:
    """Decode a scripted answer to a request that was due and sent at 0."""

    def decode(
        reads: Reads,
        *,
        end: End | None = End.COMPLETE,
        detail: str = "",
        message: str = "",
        status: int | None = 200,
        content_type: str = STREAM,
        endpoint: str = "chat",
        sampling: dict[str, Any] | None = None,
        num_tokens: int | None = None,
        address: str = "127.0.0.1:8000",
        api_key: str | None = None,
    ) -> Record:
        client = Client(Target.parse(address, api_key=api_key), endpoint, "model", Timeouts())
        prompt = Prompt(text="hello", num_tokens=num_tokens)
        arrival = Arrival(index=0, due_ns=0, prompt=prompt, sampling=sampling or {})
        prepared = Prepared(arrival=arrival, request=HttpRequest("POST", "/"))
        exchange = Exchange(client, prepared, 0, lambda _: None, keep_text=True)
        exchange.sent_ns, exchange.status = 0, status
        exchange.headers = {"content-type": content_type}
        exchange.read_ns = [round(at_ms * 1e6) for at_ms, _ in reads]
        exchange.reads = [data for _, data in reads]
        last_ms = reads[-1][0] if reads else 0
        assert end is not None
        exchange.close(end, round(last_ms * 1e6), detail, message)
        while exchange.digest(3):
            pass
        return exchange.record(0)

    return decode
