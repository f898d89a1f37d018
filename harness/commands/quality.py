"""``tokenpace quality``: of any server over HTTP, or in process (``python -m reference_server quality``)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands._options import fail, take_address, target_options, usage_errors
from harness.commands._server import become_server, passes_on

if TYPE_CHECKING:
    from harness.quality.scores import Scores
    from harness.quality.scoring import Shown

_FILE = click.Path(path_type=Path)


@click.command(**passes_on, short_help="What quantization and precision cost a server in quality.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Measure perplexity and divergence; options follow (``tokenpace quality --help``)."""
    if any(argument.partition("=")[0] == "--base-url" for argument in arguments):
        over_http.main(arguments, prog_name="tokenpace quality")
    become_server("quality", *arguments)


@click.command()
@target_options
@click.option("--text", type=_FILE, metavar="FILE", help="UTF-8; left out, a text that ships with tokenpace.")
@click.option(
    "--reference",
    metavar="URL|FILE",
    help="What to hold it against: a server without keys of its own, or what --record wrote.",
)
@click.option("--reference-model", metavar="NAME", help="By default the only one served there.")
@click.option("--record", type=_FILE, metavar="FILE", help="Keep what was told, to be a --reference later.")
@click.option("--window", default=512, show_default=True, type=click.IntRange(2), help="Tokens read at once.")
@click.option(
    "--top", default=20, show_default=True, type=click.IntRange(1), help="Likeliest tokens to list."
)
@click.option(
    "--greedy",
    default=64,
    show_default=True,
    type=click.IntRange(0),
    help="Tokens that each writes; 0: none.",
)
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write the figures there too.")
@usage_errors
def over_http(text: Path | None, record: Path | None, json_file: Path | None, **given: Any) -> None:  # noqa: ANN401  # click's
    """Show a server a text over HTTP, and see what it expects of each next token.

    By itself it gives perplexity. Beside a --reference also the divergence (KL) from it, as a lower bound
    from the likeliest tokens that servers list, how often both find the same token likeliest, and where
    greedy texts part. The server must have a tokenize call and give log-probabilities of a given text: vLLM
    and the bundled server by echo, llama.cpp by one request for each token.
    """
    from harness.quality.figures import quality_beside, quality_of
    from harness.quality.scores import write_scores
    from harness.quality.scoring import Shown
    from harness.quality.table import table
    from harness.quality.text import read_text

    shown = Shown(read_text(text), given["window"], given["top"], given["greedy"])
    reference = _reference(given["reference"], given["reference_model"], shown)
    scores = _scores(given, shown)
    if record is not None:
        write_scores(scores, record)
    found = quality_of(scores) if reference is None else quality_beside(reference, scores)
    if json_file is not None:
        _write(json_file, found)
    click.echo(table(found))


def _scores(given: dict[str, Any], shown: Shown) -> Scores:
    from harness.quality.scoring import score

    return asyncio.run(score(take_address(given).target(), given["model"], shown))


def _reference(source: str | None, model: str | None, shown: Shown) -> Scores | None:
    """From a server, or what was recorded of one."""
    from harness.quality.scores import read_scores
    from harness.quality.scoring import score
    from harness.target import Target

    if source is None:
        return None
    if "://" in source:
        return asyncio.run(score(Target.parse(source), model, shown))
    return read_scores(Path(source))


def _write(file: Path, found: object) -> None:
    import msgspec

    try:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    except OSError as error:
        fail(f"{file} can't be written ({error.strerror}); name another file")
