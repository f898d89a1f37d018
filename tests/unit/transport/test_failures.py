"""What exceptions of the network mean."""

from __future__ import annotations

import errno
import os
import socket
import ssl

import pytest

from harness.timeline import End
from harness.transport.failures import connect_failure, exchange_failure


@pytest.mark.parametrize(
    ("number", "end", "detail"),
    [
        (errno.ECONNREFUSED, End.CONNECT_ERROR, "refused"),
        (errno.EHOSTUNREACH, End.CONNECT_ERROR, "unreachable"),
        (errno.ENETUNREACH, End.CONNECT_ERROR, "unreachable"),
        (errno.ETIMEDOUT, End.CONNECT_ERROR, "timed_out"),
        (errno.ECONNRESET, End.CONNECT_ERROR, "reset"),
        (errno.EMFILE, End.CLIENT_ERROR, "too_many_files"),
        (errno.EACCES, End.CONNECT_ERROR, "other"),
    ],
)
def test_failures_to_connect(number: int, end: End, detail: str) -> None:
    failure = connect_failure(OSError(number, os.strerror(number)))
    assert (failure.end, failure.detail) == (end, detail)
    assert failure.message


def test_A6_11_no_source_port_left_is_our_own_fault() -> None:
    failure = connect_failure(OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"))
    assert (failure.end, failure.detail) == (End.CLIENT_ERROR, "no_source_port")
    assert "keep connections alive" in failure.message


def test_an_unknown_name() -> None:
    failure = connect_failure(socket.gaierror(socket.EAI_NONAME, "Name or service not known"))
    assert (failure.end, failure.detail) == (End.CONNECT_ERROR, "name")


def test_a_lost_connection() -> None:
    assert exchange_failure(ConnectionResetError(errno.ECONNRESET, "reset by peer")).end is End.RESET
    assert exchange_failure(BrokenPipeError(errno.EPIPE, "broken pipe")).end is End.RESET


def test_closed_while_connecting_is_told_in_words() -> None:
    """The event loop's exception for it says nothing."""
    assert connect_failure(ConnectionResetError()).message.endswith("(the server closed it)")


def test_tls_that_breaks_later_is_no_server_without_tls() -> None:
    """It has spoken TLS by then."""
    error = ssl.SSLError(1, "wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    assert connect_failure(error).detail == "no_tls"
    later = exchange_failure(error)
    assert (later.end, later.detail) == (End.TLS_ERROR, "broken")
    assert "http://" not in later.message


def test_a_fault_of_ours() -> None:
    failure = exchange_failure(KeyError("x"))
    assert (failure.end, failure.detail) == (End.CLIENT_ERROR, "KeyError")
