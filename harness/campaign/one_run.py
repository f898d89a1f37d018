"""One run of a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Console

from harness.campaign.draining import drained
from harness.campaign.interrupted import Interrupted
from harness.run import run
from reports.progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from harness.campaign.order import Order
    from harness.run import Run
    from scenarios.scenario import Scenario

_REPORTS: Final = ("html",)


async def run_one(scenario: Scenario, path: Path, order: Order, model: str, head: str) -> Run | Interrupted:
    """Send one scenario, with a result folder of its own.

    Args:
        scenario: What is sent.
        path: Where the result folder goes.
        order: How it is made.
        model: The model's name.
        head: What is printed before it.

    Raises:
        ScenarioError: The scenario can't be run.
        HarnessError: The server is gone, or the folder can't be written.
    """
    console = Console(stderr=True)
    if not order.quiet:
        console.print(head, style="bold", highlight=False)
    with progress(console, quiet=order.quiet) as display:
        done = await run(
            scenario,
            **msgspec.structs.asdict(order.address),
            model=model,
            result_dir=path,
            reports=_REPORTS,
            progress=display,
            telemetry=order.telemetry,
            workers=order.workers,
        )
    if done.fault is not None:
        raise done.fault
    if done.result.interrupted is not None:
        return Interrupted(done.result.interrupted)
    return done


async def words_of_draining(order: Order) -> str:
    """Wait until the server is empty; how it was found."""
    if not order.telemetry:
        return "our own requests were over; the server was not asked (--no-telemetry)"
    return (await drained(order.address.target())).words
