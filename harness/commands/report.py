"""``tokenpace report``: make the reports of an old or broken-off run again."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands._display import display, end
from harness.commands._options import usage_errors


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "--report", "reports", multiple=True, metavar="NAME", help="Write only this report; may be repeated."
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@usage_errors
def command(result: Path, reports: tuple[str, ...], *, quiet: bool) -> None:
    """Make numbers, verdict and reports of RESULT (a result folder) again from its journal.

    A run that was killed has them made for the part that it did. The exit code is the verdict's.
    """
    from harness.result_folder import ResultFolder
    from harness.run import report

    done = report(ResultFolder.open(result), reports or None)
    if not quiet:
        display(done)
    end(done)
