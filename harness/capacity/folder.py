"""What a search leaves: ``capacity.json``, and the result folders of its probes."""

from __future__ import annotations

from typing import Final

from harness.campaign.folder import Kind
from reports.capacity.files import write_files
from reports.capacity.search import Capacity, load

SEARCH: Final = Kind[Capacity](
    name="capacity",
    noun="search",
    runs="probes",
    same=("scenario", "base_url", "model", "key"),
    load=load,
    write_files=write_files,
)


def probe_name(number: int, load: float, key: str) -> str:
    """Of a probe's result folder: ``05-rate-12.5``."""
    return f"{number:02d}-{key.rpartition('.')[2]}-{load:g}"
