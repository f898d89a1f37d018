"""``tokenpace report``: make the reports of an old or broken-off run again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

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
    from rich.console import Console

    from harness.result_folder import ResultFolder
    from harness.run import report
    from reports.formats.console import show

    done = report(ResultFolder.open(result), reports or None)
    if not quiet:
        show(done.result, Console())
        for path in (done.folder.result_path, *done.reports.values()):
            click.echo(f"wrote {path}")
    sys.exit(done.result.exit_code)
