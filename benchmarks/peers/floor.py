"""The floor: a protocol on uvloop that stamps and keeps bytes, and does nothing else while it runs."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.peers import Claims, Load, Peer, claims_of

_PROGRAM = Path(__file__).parent.parent / "programs" / "floor.py"


class Floor(Peer):
    """``programs/floor.py``. Not a tool to use: a yardstick of the machine."""

    package = "uvloop"
    tokenizes = False
    open_loop = False

    def is_installed(self, python: Path) -> bool:
        """It is part of the project."""
        return python.exists()

    def command(self, python: Path, load: Load) -> list[str]:
        """All in order."""
        arguments = (
            load.url,
            load.model,
            load.streams,
            load.num_requests,
            load.tokens,
            load.folder / "times.json",
        )
        return [str(python), str(_PROGRAM), *map(str, arguments)]

    def claims(self, load: Load) -> Claims:
        """``times.json``: the time of every chunk of every request, in ns."""
        return claims_of(json.loads((load.folder / "times.json").read_bytes()))


PEER = Floor()
