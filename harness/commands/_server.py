"""Hand a command line over to the server's own program: the harness never imports the server."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

passes_on: dict[str, Any] = {
    "add_help_option": False,
    "context_settings": {"ignore_unknown_options": True, "allow_interspersed_args": False},
}


def become_server(*arguments: str) -> NoReturn:
    """Replace this process by ``python -P -m reference_server ...``: its signals, its exit code."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", "reference_server", *arguments])  # noqa: S606 (no shell)
