"""``tokenpace compare``: two runs, or two groups of runs, held against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands._display import print_all
from harness.commands._options import fail, usage_errors

if TYPE_CHECKING:
    from reports.comparison.document import Comparison


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="Compare this alone: 'ttft p95', 'ttft' (p50, p95, p99, mean), 'goodput'; may be repeated.",
)
@click.option(
    "--allow",
    "allowances",
    multiple=True,
    metavar="CHANGE",
    help="How much worse is no regression yet: 'ttft p95 10%', 'error_rate 1 point', '3%' for all; may be "
    "repeated. By default 5% and, of shares, 1 point.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of every bound and verdict.")
@click.option(
    "--across",
    multiple=True,
    metavar="KEY",
    help="Compare although this differs: model, load.rate, prompts; may be repeated.",
)
@click.option("--baselines", metavar="DIR", type=click.Path(path_type=Path), help="Where baselines are.")
@click.option(
    "--html", metavar="FILE", type=click.Path(path_type=Path), help="Write the comparison as a page."
)
@click.option("--markdown", metavar="FILE", type=click.Path(path_type=Path), help="For a comment of CI.")
@click.option("--json", "json_", metavar="FILE", type=click.Path(path_type=Path), help="For programs.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@usage_errors
def command(
    a: str,
    b: str,
    metrics: tuple[str, ...],
    allowances: tuple[str, ...],
    confidence: float,
    across: tuple[str, ...],
    baselines: Path | None,
    html: Path | None,
    markdown: Path | None,
    json_: Path | None,
    *,
    quiet: bool,
) -> None:
    """Is B worse than A by more than is allowed?

    A and B are each a result folder, several with commas between them (runs of one kind), or the name of a
    baseline. Exit code: 0 no regression, 1 regression, 2 usage error, 3 undecided, 4 invalid.
    """
    from harness.comparison.allowance import Allowances
    from harness.comparison.baselines import Baselines
    from harness.comparison.comparing import compare
    from harness.comparison.figure import figures_of
    from harness.comparison.sources import side_of
    from reports.comparison.console import show

    allowed, figures = Allowances(allowances), figures_of(metrics)
    store = Baselines(baselines)
    done = compare(
        side_of(a, store),
        side_of(b, store),
        figures=figures,
        allowances=allowed,
        confidence=confidence,
        across=across,
    )
    if not quiet:
        print_all(show, done)
    for cause in done.causes if quiet else ():
        click.echo(f"tokenpace: {cause}", err=True)
    _write(done, {"html": html, "markdown": markdown, "json": json_}, quiet=quiet)
    raise SystemExit(done.exit_code)


def _write(done: Comparison, files: dict[str, Path | None], *, quiet: bool) -> None:
    from reports import comparison

    for name, path in files.items():
        if path is None:
            continue
        try:
            comparison.write(done, name, path)
        except OSError as error:
            fail(f"{path}: cannot be written ({error.strerror}); give another file with --{name}")
        if not quiet:
            click.echo(f"wrote {path}", err=True)
