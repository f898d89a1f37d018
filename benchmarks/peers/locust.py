"""Locust's FastHttpUser with an event reader of ours: its own reads 1,024 bytes at a time, its statistics end
at the headers. It has users and no arrivals.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.peers import Claims, Load, Peer, claims_of, program

_PROGRAM = Path(__file__).parent.parent / "programs" / "locustfile.py"


class Locust(Peer):
    """``locust -f programs/locustfile.py``, in the project's environment with its extra ``locust``."""

    package = "locust"
    tokenizes = False
    open_loop = False

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "locust").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """All users at once."""
        arguments = (
            *("-f", _PROGRAM, "--headless", "--only-summary", "--host", load.url),
            *("--users", load.streams, "--spawn-rate", load.streams),
            *("--requests", load.num_requests, "--tokens", load.tokens, "--served", load.model),
            *("--times", load.folder / "times.json"),
        )
        return [str(program(python, "locust")), *map(str, arguments)]

    def claims(self, load: Load) -> Claims:
        """What the reader wrote: the time of every chunk of every request, in ns."""
        return claims_of(json.loads((load.folder / "times.json").read_bytes()))


PEER = Locust()
