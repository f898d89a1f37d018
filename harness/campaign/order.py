"""How the runs of a campaign are to be made."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from harness.address import Address


@dataclasses.dataclass(frozen=True, kw_only=True)
class Order:
    """What they have in common besides the scenario.

    Attributes:
        address: The server.
        model: As in ``harness.run.run``.
        output: The folder of all; a new one in ``results`` by default.
        workers: As in ``harness.run.run``.
        telemetry: Likewise.
        quiet: Print nothing.
    """

    address: Address
    model: str | None = None
    output: Path | None = None
    workers: str = "1"
    telemetry: bool = True
    quiet: bool = False
