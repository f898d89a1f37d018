"""The times and bytes of one exchange, as its transport saw them. Nothing in it has been parsed."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

SLICE_BYTES: Final = 65_536
END_WAIT_NS: Final = 100_000_000
"""So long the end of a body is waited for once its stream is over: the connection can then be kept."""


class End(enum.Enum):
    """How an exchange ended on the wire."""

    COMPLETE = "complete"
    """The body ended as its framing says, or by a close where only a close could end it."""
    CLOSED = "closed"
    """Closed politely before that."""
    LEFT_OPEN = "left_open"
    """The stream in the body was over and the body didn't end, so the harness closed."""
    RESET = "reset"
    CONNECT_ERROR = "connect_error"
    TLS_ERROR = "tls_error"
    TIMEOUT = "timeout"
    NOT_HTTP = "not_http"
    """What came can't be a reply: broken framing, a head without end, a compression not asked for."""
    CUT = "cut"
    CLIENT_ERROR = "client_error"


class EnoughError(Exception):
    """Nothing more of this exchange is wanted: its transport closes the connection.

    Args:
        end: How the exchange ends by that.
        detail: The sub-class of the failure.
        message: What happened in words.
    """

    def __init__(self, end: End, detail: str, message: str) -> None:
        super().__init__(message)
        self.end = end
        self.detail = detail


class Timeline:
    """One exchange. All times in ns of the monotonic clock; None for what hasn't happened.

    Attributes:
        due_ns: When the request was to be sent.
        sent_ns: When its bytes were handed to the kernel.
        connect_ns: Time that a new connection took, TLS included; 0 on a reused one.
        headers_ns: When the response head had been received.
        status: HTTP status.
        headers: Response headers by lower-case name, the last of each.
        reads: The body bytes of each socket read, HTTP framing taken off. Whoever decodes takes them.
        read_ns: When each of ``reads`` came. Two lists, because a million pairs would keep the garbage
            collector busy.
        end: How it ended, None while it goes on.
        end_ns: When: the read that completed it, or the moment of the failure.
        detail: The sub-class of the failure.
        message: What happened in words; may hold secrets.
        num_resends: How often the request was sent again, since a kept-alive connection had been closed.
        end_marks: With which a read may end that is the last of a stream, and hardly any other.
        on_end_mark: Called when one has come, set by who waits for the end of the body.
    """

    __slots__ = (
        "_num_gathered",
        "connect_ns",
        "detail",
        "due_ns",
        "end",
        "end_marks",
        "end_ns",
        "headers",
        "headers_ns",
        "message",
        "num_resends",
        "on_end_mark",
        "read_ns",
        "reads",
        "sent_ns",
        "status",
    )

    def __init__(self, due_ns: int) -> None:
        self.due_ns = due_ns
        self.sent_ns: int | None = None
        self.connect_ns = 0
        self.headers_ns: int | None = None
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.reads: list[bytes] = []
        self.read_ns: list[int] = []
        self.end: End | None = None
        self.end_ns = 0
        self.detail = ""
        self.message = ""
        self.num_resends = 0
        self.end_marks: tuple[bytes, ...] = ()
        self.on_end_mark: Callable[[], None] | None = None
        self._num_gathered = 0

    def close(self, end: End, at_ns: int, detail: str = "", message: str = "") -> None:
        """Note how it ended. The first end holds."""
        if self.end is None:
            self.end, self.end_ns, self.detail, self.message = end, at_ns, detail, message

    def keep(self, at_ns: int, data: bytes) -> None:
        """Take the body bytes of a socket read.

        Raises:
            EnoughError: They are the last that are wanted.
        """
        self.read_ns.append(at_ns)
        self.reads.append(data)
        if data.endswith(self.end_marks) and self.on_end_mark is not None:
            self.on_end_mark()
        self._num_gathered += len(data)
        if self._num_gathered >= SLICE_BYTES:
            self._num_gathered = 0
            self.on_slice()

    def on_slice(self) -> None:
        """Called each time about ``SLICE_BYTES`` have gathered.

        Raises:
            EnoughError: Nothing more is wanted.
        """

    def has_token(self) -> bool:
        """True once a token has come: then the idle timeout holds, no more that for the first token."""
        return bool(self.reads)

    def over_ns(self) -> int | None:
        """When the stream in the body ended by its own form, though the body may go on; None if it hasn't."""
        return None
