"""Take the address before the model is loaded, so that a taken port is told at once."""

from __future__ import annotations

import errno
import socket


class AddressError(Exception):
    """The server can't listen there. The message says why and what to do."""


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet; port 0 takes a free one.

    Raises:
        AddressError: The address is taken, unknown or forbidden.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AddressError(f"Cannot listen on {host!r}: {error}; choose another --host.") from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise AddressError(f"Cannot listen on {url(host, port)}: {_reason(error)}.") from error
    return bound


def _reason(error: OSError) -> str:
    """What is wrong with the address, and which half of it to change."""
    if error.errno == errno.EADDRNOTAVAIL:
        return "this machine has no such address; choose another --host"
    return f"{error.strerror or error}; choose another --port"


def url(host: str, port: int) -> str:
    """The address as a URL, an IPv6 host in brackets."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
