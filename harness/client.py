"""A client: what it takes to turn an arrival into an exchange with the server under test."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from harness import transport, wire
from harness.transport import REQUEST_ID, HttpRequest
from scenarios.request import Arrival

if TYPE_CHECKING:
    from harness.target import Target
    from scenarios.timeouts import Timeouts
    from scenarios.tokenizers import TokenCounter


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A request in bytes, ready to be sent, and what its record must know of it.

    Attributes:
        arrival: What it was made from.
        request: What goes over the wire.
    """

    arrival: Arrival
    request: HttpRequest

    @property
    def due_ns(self) -> int | None:
        """When it is to be sent, ns after the start of the run."""
        return self.arrival.due_ns


class Client:
    """Sends to one target.

    Args:
        target: Whom.
        endpoint: Name of the endpoint, such as ``chat``.
        model: The model's name as the server knows it.
        timeouts: How long to wait for what.
        counter: Counts the tokens of answers where the server doesn't say how many they are.

    Raises:
        TargetError: The address names another endpoint than ``endpoint``.
        EndpointError: There is no such endpoint.
    """

    def __init__(
        self,
        target: Target,
        endpoint: str,
        model: str,
        timeouts: Timeouts,
        counter: TokenCounter | None = None,
    ) -> None:
        self.target = target
        self.endpoint = wire.endpoint(endpoint)
        self.model = model
        self.timeouts = timeouts
        self.counter = counter
        self.transport = transport.choose(target, timeouts)
        self._path = target.path_of(self.endpoint.path)
        self._run_id: str | None = f"tokenpace-{secrets.token_hex(4)}"  # that no other client has
        if REQUEST_ID.lower() in {name.lower() for name in target.headers}:
            self._run_id = None

    def prepare(self, arrival: Arrival) -> Prepared:
        """Put an arrival into bytes.

        Raises:
            EndpointError: The endpoint can't carry such a prompt.
        """
        body = self.endpoint.body(arrival, self.model)
        accept = "text/event-stream" if self.endpoint.streaming else "application/json"
        request_id = None if self._run_id is None else f"{self._run_id}-{arrival.index}"
        return Prepared(arrival=arrival, request=HttpRequest("POST", self._path, body, accept, request_id))

    async def close(self) -> None:
        """Close all connections."""
        await self.transport.close()
