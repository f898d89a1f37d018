"""The messages between an engine client and the loop that drives the engine; a step is one message."""

from __future__ import annotations

import msgspec

from reference_server.engine.request import EngineInfo, EngineOutput, EngineRequest, EngineStats


class Add(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Take in a sequence."""

    request: EngineRequest


class Abort(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """End a sequence early."""

    request_id: str


class ResetPrefixCache(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Let nothing computed so far be found again."""


class Ping(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Ask the loop for a sign of life."""

    number: int


class Stop(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Leave the loop."""


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The model is loaded."""

    info: EngineInfo


class Step(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What one step brought forth, and the state after it."""

    outputs: list[EngineOutput]
    stats: EngineStats


class Pong(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The answer to the ping of that number."""

    number: int


class Dead(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The loop has ended after a fault; nothing follows."""

    reason: str


Command = Add | Abort | ResetPrefixCache | Ping | Stop
Reply = Ready | Step | Pong | Dead
