"""``tokenpace export``: the requests of a run, or every stamp of it, as CSV or Parquet."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands._options import fail, usage_errors


@click.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "--what",
    "names",
    multiple=True,
    default=("requests",),
    show_default=True,
    metavar="TABLE",
    help="requests, chunks (every stamp) or timeline; may be repeated.",
)
@click.option("--format", "format_name", default="csv", show_default=True, help="csv or parquet.")
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the files go; the result folder by default.",
)
@usage_errors
def command(result: Path, names: tuple[str, ...], format_name: str, output: Path | None) -> None:
    """Write tables of RESULT (a result folder), one file each, from its journal.

    docs/export.md says what each column is.
    """
    from harness.export import ExportedRun, export
    from harness.result_folder import ResultFolder
    from reports import tables

    run = ExportedRun(ResultFolder.open(result))
    folder = output or run.folder.path
    try:
        suffix = tables.get(format_name).SUFFIX
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            path = folder / f"{name}{suffix}"
            num_rows = export(run, name, format_name, path)
            click.echo(f"wrote {path}: {num_rows:,} {'row' if num_rows == 1 else 'rows'}")
        for fault in run.faults():
            click.echo(f"tokenpace: warning: {fault}", err=True)
    except tables.TableError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{folder}: cannot be written ({error.strerror}); give another folder with --output")
