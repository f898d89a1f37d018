"""What is to be told at a session's end though no report tells it.

Each pytest-xdist worker leaves it where the controller looks for it.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

import pytest

from harness.pytest import turns

_NOTED: Final = pytest.StashKey[list[dict[str, Any]]]()


def note(config: pytest.Config, rows: list[dict[str, Any]], lines: list[str]) -> None:
    """Leave rows of the summary and lines beside them, plain enough to travel between processes."""
    noted = config.stash.setdefault(_NOTED, [])
    noted.append({"rows": rows, "lines": lines})
    folder = turns.common_folder(config)
    if folder is not None:
        (folder / f"notes-{os.getpid()}.json").write_text(json.dumps(noted), encoding="utf-8")


def noted(config: pytest.Config) -> list[dict[str, Any]]:
    """All ``rows`` and ``lines`` of this process and its workers."""
    folder = turns.common_folder(config)
    if folder is None:
        return config.stash.get(_NOTED, [])
    paths = sorted(folder.glob("notes-*.json"))
    return [each for path in paths for each in json.loads(path.read_text(encoding="utf-8"))]
