"""The C of the reader, in the folder ``c``: built at first use, kept in the cache, called by ctypes."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_SOURCES: Final = Path(__file__).with_name("c")
_COMPILERS: Final = ("cc", "gcc", "clang")
_FLAGS: Final = ("-O2", "-shared", "-fPIC", "-std=gnu11", "-pthread")
_TIMEOUT_S: Final = 60.0


class NoReaderError(RuntimeError):
    """The thread can't be had here. The message says why, as the end of a sentence."""


class Taken(ctypes.Structure):
    """``struct taken`` of ``reader.h``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("reads", ctypes.c_void_p),
        ("num_reads", ctypes.c_int64),
        ("state", ctypes.c_int64),
        ("error", ctypes.c_int64),
    )


@functools.cache
def load_library() -> ctypes.PyDLL:
    """The functions of ``reader.h``. They return at once, so the interpreter's lock is kept.

    Raises:
        NoReaderError: Another system than Linux, no compiler, or it failed.
    """
    if sys.platform != "linux":
        raise NoReaderError("it is written for Linux")
    try:
        library = ctypes.PyDLL(str(_build()))
    except (OSError, RuntimeError) as error:  # Path.home() raises the latter where nobody has a home
        if isinstance(error, NoReaderError):
            raise
        raise NoReaderError(f"its library could not be built or loaded ({error})") from error
    for name, result, *arguments in _FUNCTIONS:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_FUNCTIONS: Final = (
    ("reader_new", _POINTER, ctypes.c_char_p, _POINTER, _NUMBER),
    ("reader_free", None, _POINTER),
    ("reader_bell", ctypes.c_int, _POINTER),
    ("reader_called", _NUMBER, _POINTER, _POINTER, _NUMBER),
    ("reader_lags", _NUMBER, _POINTER, _POINTER, _NUMBER),
    ("source_new", _POINTER, _POINTER, ctypes.c_int, _NUMBER),
    ("source_free", None, _POINTER),
    ("source_take", None, _POINTER, _POINTER),
    ("source_call_always", None, _POINTER, ctypes.c_int),
)


def _build() -> Path:
    """The library's path; compiled now if the cache has none for these sources and this machine."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise NoReaderError(f"no C compiler was found ({', '.join(_COMPILERS)}); install one")
    sources = sorted(_SOURCES.glob("*.[ch]"))
    made_of = (
        _run([compiler, "--version"]),
        platform.machine(),
        _FLAGS,
        [each.read_bytes() for each in sources],
    )
    key = hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tokenpace" / "reader"
    path = cache / f"reader-{key}.so"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            output = Path(folder) / path.name
            inputs = [str(each) for each in sources if each.suffix == ".c"]
            _run([compiler, *_FLAGS, *inputs, "-o", str(output)])
            output.replace(path)  # whoever builds at the same time has built the same
    return path


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)  # noqa: S603  # the compiler of this machine
    except subprocess.TimeoutExpired as error:
        raise NoReaderError(f"{command[0]} took longer than {_TIMEOUT_S:.0f} s") from error
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NoReaderError(f"{command[0]} failed: {reason}")
    return done.stdout
