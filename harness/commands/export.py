"""``tokenpace export``: the requests of a run, every stamp of it, or its histograms, for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands._options import fail, usage_errors

if TYPE_CHECKING:
    from harness.export import ExportedRun


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "--what",
    "names",
    multiple=True,
    default=("requests",),
    show_default=True,
    metavar="TABLE",
    help="requests, chunks (every stamp), timeline or histograms; may be repeated.",
)
@click.option(
    "--format",
    "format_name",
    help="csv or parquet, by default csv; for histograms hgrm or hdrlog, by default hgrm.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Of the histograms only this one (ttft, service_ttft, itl, ...); may be repeated.",
)
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the files go; the result folder by default.",
)
@usage_errors
def command(
    result: Path,
    names: tuple[str, ...],
    format_name: str | None,
    metrics: tuple[str, ...],
    output: Path | None,
) -> None:
    """Write tables of RESULT (a result folder), one file each, from its journal; or its histograms.

    docs/export.md says what each column is.
    """
    from harness.export import HISTOGRAMS, ExportedRun
    from harness.result_folder import ResultFolder
    from reports import tables

    if metrics and HISTOGRAMS not in names:
        fail(f"--metric chooses among histograms; add --what {HISTOGRAMS}")
    run = ExportedRun(ResultFolder.open(result))
    folder = output or run.folder.path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            if name == HISTOGRAMS:
                _write_histograms(run, metrics, format_name, folder)
            else:
                _write_table(run, name, format_name or "csv", folder)
        for fault in run.faults():
            click.echo(f"tokenpace: warning: {fault}", err=True)
    except tables.TableError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{folder}: cannot be written ({error.strerror}); give another folder with --output")


def _write_table(run: ExportedRun, name: str, format_name: str, folder: Path) -> None:
    from harness.export import export
    from reports import tables

    path = folder / f"{name}{tables.get(format_name).SUFFIX}"
    num_rows = export(run, name, format_name, path)
    click.echo(f"wrote {path}: {num_rows:,} {'row' if num_rows == 1 else 'rows'}")


def _write_histograms(
    run: ExportedRun, metrics: tuple[str, ...], format_name: str | None, folder: Path
) -> None:
    from harness.export import export_histograms

    for path, n in export_histograms(run, metrics, format_name or "hgrm", folder):
        click.echo(f"wrote {path}: {n:,} {'sample' if n == 1 else 'samples'}")
