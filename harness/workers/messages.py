"""What the run's process and its workers say to each other: values that any transport can carry."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from harness.address import Address
from harness.drivers.saturation import Bin
from harness.load_status import LoadStatus
from harness.result_folder import Manifest
from harness.tally import Part


class Order(msgspec.Struct, frozen=True, kw_only=True, tag="order"):
    """What a worker is to send, to whom.

    Attributes:
        manifest: The run.
        address: The server under test.
        worker: Which share of the load, from 0.
        num_workers: How many shares there are.
        journal: Path of the worker's own journal, new.
        beat_s: Seconds between two beats.
    """

    manifest: Manifest
    address: Address
    worker: int
    num_workers: int
    journal: str
    beat_s: float


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker can begin at once."""


class Start(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """The load begins.

    Attributes:
        at_ns: When, on the monotonic clock.
    """

    at_ns: int


class AskTime(msgspec.Struct, frozen=True, tag="ask_time"):
    """Say what your monotonic clock shows."""


class Time(msgspec.Struct, frozen=True, kw_only=True, tag="time"):
    """What the worker's monotonic clock shows.

    Attributes:
        now_ns: Likewise.
    """

    now_ns: int


class Drain(msgspec.Struct, frozen=True, kw_only=True, tag="drain"):
    """Send nothing more; what is in flight has the grace period.

    Attributes:
        reason: Why.
    """

    reason: str


class Cut(msgspec.Struct, frozen=True, tag="cut"):
    """End now: what is in flight is cut."""


class Beat(msgspec.Struct, frozen=True, kw_only=True, tag="beat"):
    """The worker is alive.

    Attributes:
        status: How its load stands.
        bins: What there is new for the test of saturation.
    """

    status: LoadStatus
    bins: list[Bin] = []


class Count(msgspec.Struct, frozen=True, tag="count"):
    """Say what the requests so far add up to."""


class Counted(msgspec.Struct, frozen=True, kw_only=True, tag="counted"):
    """What the requests so far add up to.

    Attributes:
        part: Likewise.
    """

    part: Part


class Piece(msgspec.Struct, frozen=True, kw_only=True, tag="piece"):
    """More of the worker's journal, from a disk that the run's process doesn't see.

    Attributes:
        lines: Whole lines, in their order.
    """

    lines: bytes


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The worker's share has come to its end.

    Attributes:
        status: How it stood then.
        part: What its requests add up to.
        fault: Why its journal could not be written to the end; None where it was.
    """

    status: LoadStatus
    part: Part
    fault: str | None


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The worker can't go on.

    Attributes:
        message: Why, secrets masked.
    """

    message: str


Message: TypeAlias = (
    Order | Ready | AskTime | Time | Start | Drain | Cut | Beat | Count | Counted | Piece | Done | Failed
)

_DECODER: Final = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """A message as MessagePack."""
    return msgspec.msgpack.encode(message)


def decode(data: bytes) -> Message:
    """The message that ``encode`` wrote.

    Raises:
        msgspec.MsgspecError: It is none.
    """
    message: Message = _DECODER.decode(data)
    return message
