"""The threads and sockets that gevent has put its own in place of."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from gevent import monkey

from harness import native


def use_real_threads() -> None:
    """Have the harness take threads and sockets of the operating system, where this process is patched."""
    if monkey.is_module_patched("threading"):
        native.use(_real_threading(), monkey.get_original("socket", "socket"))


def _real_threading() -> ModuleType:
    """``threading`` once more, made upon the functions that gevent has kept of ``_thread``."""
    spec = importlib.util.find_spec("threading")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patched = sys.modules["_thread"]
    real = ModuleType("_thread")
    vars(real).update({name: monkey.get_original("_thread", name) for name in vars(patched)})
    sys.modules["_thread"] = real
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules["_thread"] = patched
    return module
