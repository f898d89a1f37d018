"""What an exception of the network means for a request."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import Final, NamedTuple

from harness.timeline import End
from harness.transport.head import shown


class Failure(NamedTuple):
    """How an exchange ended, its sub-class, its words."""

    end: End
    detail: str
    message: str


_OURS: Final = {
    errno.EADDRNOTAVAIL: (
        "no_source_port",
        "this machine has no free source port; keep connections alive, or lower the request rate",
    ),
    errno.EMFILE: ("too_many_files", "the limit of open files is reached; raise it with `ulimit -n`"),
    errno.ENFILE: ("too_many_files", "the system's limit of open files is reached"),
    errno.ENOBUFS: ("no_buffers", "the kernel has no buffer space left"),
}
_AWAY: Final = {
    errno.ECONNREFUSED: ("refused", "nobody listens there"),
    errno.EHOSTUNREACH: ("unreachable", "no route to the host"),
    errno.ENETUNREACH: ("unreachable", "no route to the network"),
    errno.ETIMEDOUT: ("timed_out", "the host doesn't answer"),
}


def connect_failure(error: Exception) -> Failure:
    """What a failed attempt to connect means."""
    if isinstance(error, ssl.SSLError):
        return _tls_failure(error)
    if isinstance(error, socket.gaierror):
        return Failure(End.CONNECT_ERROR, "name", f"the host's name isn't known ({error.strerror})")
    number = error.errno if isinstance(error, OSError) else None
    if number in _OURS:
        return Failure(End.CLIENT_ERROR, *_OURS[number])
    if number in _AWAY:
        return Failure(End.CONNECT_ERROR, *_AWAY[number])
    if isinstance(error, ConnectionError):
        how = str(error) or "the server closed it"
        return Failure(End.CONNECT_ERROR, "reset", f"connection lost while connecting ({how})")
    if isinstance(error, OSError):
        return Failure(End.CONNECT_ERROR, "other", str(error))
    return Failure(End.CLIENT_ERROR, type(error).__name__, str(error))


def exchange_failure(error: Exception) -> Failure:
    """What the loss of an established connection means."""
    if isinstance(error, ssl.SSLError):
        return Failure(End.TLS_ERROR, "broken", f"TLS broke amid the exchange ({error.reason or error})")
    if isinstance(error, OSError):
        return Failure(End.RESET, "", f"connection lost ({error.strerror or error})")
    return Failure(End.CLIENT_ERROR, type(error).__name__, str(error))


def no_answer(begun: bytes | bytearray) -> Failure:
    """What a polite close before the end of a response head means.

    Args:
        begun: What has come of the head.
    """
    amid = f" amid the head of its answer: {shown(bytes(begun))}" if begun else " without an answer"
    return Failure(End.RESET, "no_answer", f"the server closed the connection{amid}")


def _tls_failure(error: ssl.SSLError) -> Failure:
    if isinstance(error, ssl.SSLCertVerificationError):
        message = (
            f"the certificate isn't trusted ({error.verify_message}); give its CA file, or allow insecure"
        )
        return Failure(End.TLS_ERROR, "certificate", message)
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return Failure(End.TLS_ERROR, "no_tls", "the server doesn't speak TLS; use an http:// address")
    return Failure(End.TLS_ERROR, "handshake", f"TLS failed ({error.reason or error})")
