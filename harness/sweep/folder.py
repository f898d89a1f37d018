"""What a sweep leaves: ``sweep.json``, and the result folders of its points."""

from __future__ import annotations

import re
from typing import Any, Final

from harness.campaign.folder import Kind
from reports.sweep.files import write_files
from reports.sweep.table import Sweep, load

SWEEP: Final = Kind[Sweep](
    name="sweep",
    noun="sweep",
    runs="points",
    same=("scenario", "base_url", "model"),
    load=load,
    write_files=write_files,
)
_MAX_NAME: Final = 60


def point_name(number: int, values: dict[str, Any]) -> str:
    """Of a point's result folder: ``003-rate-4-max_tokens-16``."""
    words = "-".join(f"{key.rpartition('.')[2]}-{value}" for key, value in values.items())
    return f"{number:03d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', words)[:_MAX_NAME].strip('-.')}"
