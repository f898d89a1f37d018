"""Result folders of runs that were never made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from harness.result_folder import Manifest, ResultFolder
from harness.window import Window
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.record import Record


def ten_a_second(num: int, **keys: Any) -> dict[str, Any]:
    """A scenario of that many requests, one every 100 ms; ``keys`` besides."""
    return scenario_from(
        {
            "schema": 1,
            "name": "x",
            "load": {"arrivals": "constant", "rate": 10, "requests": num},
            "prompts": {"source": "text", "text": ["one"]},
            **keys,
        }
    ).to_mapping()


def manifest(**fields: Any) -> Manifest:
    """Of an open loop that is measured as a whole; ``fields`` win over everything."""
    values: dict[str, Any] = {
        "tool_version": "9.9",
        "scenario": {},
        "base_url": "http://127.0.0.1:1/v1",
        "model": "m",
        "started_at": "2026-11-30T10:00:00+00:00",
        "loop": "open",
        "capped": False,
        "window": Window(),
    }
    return Manifest(**{**values, **fields})


def result_folder(path: Path, records: Iterable[Record], **fields: Any) -> ResultFolder:
    """Manifest and journal: what a run leaves that is broken off before its first checkpoint."""
    folder = ResultFolder.create(path, path.name)
    folder.save(manifest(**fields))
    folder.journal_path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in records))
    return folder
