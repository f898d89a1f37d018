"""The C of the event loop, in the folder ``c``: built at first use, kept in the cache, called by ctypes."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

from reference_server.c_library import BuildError, CLibrary
from reference_server.timetable.event_loop import LoopError

_LIBRARY = CLibrary("timetable", Path(__file__).with_name("c"))

Connected = ctypes.CFUNCTYPE(None, ctypes.c_int)
Received = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
Lost = Ran = Connected
Ring = Turn = ctypes.CFUNCTYPE(None)


class Callbacks(ctypes.Structure):
    """``struct callbacks`` of ``loop.h``."""

    _fields_ = (
        ("connected", Connected),
        ("received", Received),
        ("lost", Lost),
        ("ring", Ring),
        ("turn", Turn),
        ("ran", Ran),
    )


class Vocabulary(ctypes.Structure):
    """``struct vocabulary`` of ``loop.h``."""

    _fields_ = (("words", ctypes.c_char_p), ("starts", ctypes.c_void_p), ("mask", ctypes.c_uint32))


class RunRequest(ctypes.Structure):
    """``struct run_request`` of ``loop.h``."""

    _fields_ = (
        ("due_ns", ctypes.c_int64),
        ("gap_ns", ctypes.c_int64),
        ("num_events", ctypes.c_int64),
        ("before", ctypes.c_char_p),
        ("after", ctypes.c_char_p),
        ("before_size", ctypes.c_size_t),
        ("after_size", ctypes.c_size_t),
        ("position", ctypes.c_uint32),
        ("stamps", ctypes.c_void_p),
        ("progress", ctypes.c_void_p),
    )


def load_library() -> ctypes.PyDLL:
    """The library, built if need be.

    It keeps the lock of the interpreter while it runs: the process has no other thread, and each call back
    would have to wait for it.

    Raises:
        LoopError: There is no compiler, it failed, or this is not Linux.
    """
    if sys.platform != "linux":
        raise LoopError("the compiled loop needs Linux")
    try:
        library = ctypes.PyDLL(str(_LIBRARY.build()))
    except (BuildError, OSError) as error:
        raise LoopError(str(error)) from error
    loop, fd, size, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
    library.loop_new.restype = loop
    library.loop_new.argtypes = (fd, fd, ctypes.POINTER(Callbacks), ctypes.POINTER(Vocabulary))
    library.loop_num_held.restype = size
    for name in ("run", "free", "soon"):
        _declare(library, name, loop)
    for name in ("num_held", "shut", "close", "abort"):
        _declare(library, name, loop, fd)
    _declare(library, "alarm", loop, ctypes.c_int64)
    _declare(library, "read", loop, fd, ctypes.c_bool)
    _declare(library, "hold", loop, fd, text, size)
    _declare(library, "start_run", loop, fd, ctypes.POINTER(RunRequest))
    return library


def _declare(library: ctypes.PyDLL, name: str, *arguments: type) -> None:
    getattr(library, f"loop_{name}").argtypes = arguments
