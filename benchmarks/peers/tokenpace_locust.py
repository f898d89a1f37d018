"""This project's engine within Locust: ``tokenpace run --engine locust``, with all that a run leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers import Load, program
from benchmarks.peers.tokenpace import Tokenpace

if TYPE_CHECKING:
    from pathlib import Path


class TokenpaceLocust(Tokenpace):
    """The same run, sent from a thread of a process in which Locust has its greenlets."""

    def is_installed(self, python: Path) -> bool:
        """By both programs."""
        return super().is_installed(python) and program(python, "locust").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """As tokenpace's own."""
        return [*super().command(python, load), "--engine", "locust"]


PEER = TokenpaceLocust()
