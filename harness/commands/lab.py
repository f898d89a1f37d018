"""``tokenpace lab``: what an idea of serving is worth."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.commands._display import print_all
from harness.commands._options import usage_errors


@click.command()
@click.argument("experiment", metavar="[EXPERIMENT]", required=False)
@click.option("--quick", is_flag=True, help="Fewer and shorter runs, for a first look.")
@click.option("--model", metavar="MODEL", help="Serve this one: a name, a .gguf file or a folder.")
@click.option(
    "--output", metavar="DIR", type=click.Path(path_type=Path), help="The folder of all runs; a new one."
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@usage_errors
def command(
    experiment: str | None, model: str | None, output: Path | None, *, quick: bool, quiet: bool
) -> None:
    """Run EXPERIMENT: variants of the bundled server under one scenario, compared with intervals.

    EXPERIMENT is a YAML file or one that comes with the product; without it their names are listed. Each
    variant is served by a new server, in an order that alternates with each repeat. Exit code: that of the
    worst claim: 0 shown, 1 refuted, 3 undecided, 4 invalid; 2 for a usage error, 129/130/143 if interrupted.
    """
    from harness import event_loop
    from harness.lab.experiment import load_experiment
    from harness.lab.library import locate, names
    from harness.lab.running import run_experiment
    from reports.lab.console import show

    if experiment is None:
        for name in names():
            click.echo(f"{name:<16} {load_experiment(locate(name)).question}")
        return
    loaded = load_experiment(locate(experiment), quick=quick, model=model)
    lab, paths = event_loop.run(run_experiment(loaded, output, quiet=quiet))
    if not quiet:
        print_all(show, lab, paths)
    sys.exit(lab.exit_code)
