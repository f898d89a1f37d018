"""Threads and sockets of the operating system, whatever else has been put into their place.

A process that gevent has patched (Locust does so when it is imported) has greenlets where ``threading``
promises threads, and sockets that wait for gevent's loop. The harness stamps on a thread of its own and needs
the real ones, so it takes them from here. ``use`` says what they are there; elsewhere they are Python's own.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from harness.event_loop import call_soon

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_threading: Any = threading
_socket: type[socket.socket] = socket.socket


def use(real_threading: Any, real_socket: type[socket.socket]) -> None:  # noqa: ANN401 (a module)
    """Take threads and sockets from there from now on.

    Args:
        real_threading: What ``threading`` would be had nobody patched it.
        real_socket: The class of sockets, likewise.
    """
    global _threading, _socket
    _threading, _socket = real_threading, real_socket


def new_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """A thread that doesn't keep the process alive, not yet started."""
    thread: threading.Thread = _threading.Thread(target=work, name=name, daemon=True)
    return thread


def new_event() -> threading.Event:
    """An event for which threads wait."""
    event: threading.Event = _threading.Event()
    return event


def new_socket(family: int, kind: int, protocol: int) -> socket.socket:
    """A socket, not connected."""
    return _socket(family, kind, protocol)


async def in_thread(work: Callable[[], T]) -> T:
    """What ``work`` returns or raises, done by a thread of its own; the loop goes on meanwhile."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(give: Callable[[Any], None], what: object) -> None:
        if not done.done():
            give(what)

    def do() -> None:
        try:
            outcome: tuple[Callable[[Any], None], object] = (done.set_result, work())
        except BaseException as error:  # noqa: BLE001 (raised again where it is awaited)
            outcome = (done.set_exception, error)
        call_soon(loop, tell, *outcome)

    new_thread(do, "tokenpace work").start()
    return await done
