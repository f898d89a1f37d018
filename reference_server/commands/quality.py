"""``quality``: what a way of computing a model costs in quality."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reference_server.engine.threads import default_cpu_threads, prepare_threads
from reference_server.model_store.errors import ModelStoreError
from reference_server.models.errors import ModelError
from reference_server.quality.errors import QualityError
from reference_server.settings import ConfigError, load_config

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig
    from reference_server.quality.figures import Quality
    from reference_server.quality.measurement import Divergence

_FILE = click.Path(path_type=Path)


@click.command(short_help="What quantization and precision cost in quality, against a reference.")
@click.argument("model", default="smollm2-135m")
@click.option("--text", type=_FILE, metavar="FILE", help="UTF-8; left out, a text that ships with tokenpace.")
@click.option("--quantization", help="Of the candidate, as of serve.")
@click.option("--dtype", default="auto", show_default=True, help="Of the candidate, as of serve.")
@click.option("--reference-quantization", default="none", show_default=True, help="Of the reference.")
@click.option("--reference-dtype", default="float32", show_default=True, help="Of the reference.")
@click.option("--window", default=512, show_default=True, type=click.IntRange(2), help="Tokens read at once.")
@click.option(
    "--greedy", default=64, show_default=True, type=click.IntRange(0), help="Tokens that both write; 0: none."
)
@click.option("--cpu-threads", type=click.IntRange(1), help="That compute; left out, all cores but one.")
@click.option("--device", default="cpu", show_default=True, help="As of serve.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Write the figures there too.")
@click.option("--base-url", metavar="URL", help="Of any server: tokenpace quality --base-url URL --help.")
def quality(model: str, text: Path | None, json_file: Path | None, **options: Any) -> None:  # noqa: ANN401  # click's
    """Show MODEL, computed in two ways, the same text, and compare what they expect of each next token.

    Perplexity of both, the divergence (KL) of the candidate from the reference over the whole vocabulary, how
    often both find the same token likeliest, and where greedy texts of the two part.
    """
    _refuse_servers(options["base_url"])
    prepare_threads()
    try:
        config, reference = _configs(model, options)
        found, divergence = _measure(config, reference, text, options["window"], options["greedy"])
        if json_file is not None:
            _write(json_file, found, divergence)
    except (ConfigError, ModelError, ModelStoreError, OSError, ValueError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    click.echo(table(found, divergence))


def _refuse_servers(base_url: str | None) -> None:
    if base_url is not None:
        raise click.UsageError(
            "--base-url: a server is measured over HTTP by tokenpace quality --base-url URL; leave it out to "
            "measure a model in process"
        )


def _configs(model: str, options: dict[str, Any]) -> tuple[EngineConfig, EngineConfig]:
    """The candidate's settings and the reference's."""
    from reference_server.quality.measurement import PROMPT_TOKENS

    shared = {
        "model": model,
        "device": options["device"],
        "cpu_threads": options["cpu_threads"] or default_cpu_threads(),
        "max_model_len": max(options["window"], PROMPT_TOKENS + options["greedy"]),
        "max_num_seqs": 1,
    }
    own = {"quantization": options["quantization"], "dtype": options["dtype"]}
    other = {"quantization": options["reference_quantization"], "dtype": options["reference_dtype"]}
    return tuple(load_config(flags=shared | given).to_engine_config() for given in (own, other))  # type: ignore[return-value]  # two


def _measure(
    config: EngineConfig, reference: EngineConfig, text: Path | None, window: int, num_greedy: int
) -> tuple[Quality, Divergence | None]:
    # Heavy: imports torch.
    from reference_server.quality.forced_model import ForcedModel
    from reference_server.quality.measurement import measure, measure_greedy
    from reference_server.quality.text import read_text, windows
    from reference_server.text.load import load_tokenizer

    texts = windows(load_tokenizer(config.model).encode(read_text(text)), window)
    models = ForcedModel(reference), ForcedModel(config)
    found = measure(*models, texts)
    return found, measure_greedy(*models, texts, num_greedy) if num_greedy else None


def _write(file: Path, found: Quality, divergence: Divergence | None) -> None:
    figures = dataclasses.asdict(found) | {"perplexity_ratio": found.perplexity_ratio}
    if divergence is not None:
        figures["greedy"] = dataclasses.asdict(divergence)
    try:
        file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise QualityError(f"{file} can't be written ({error.strerror}); name another file") from error


def table(found: Quality, divergence: Divergence | None) -> str:
    """A line for each figure."""
    lines = [
        ("predicted tokens", f"{found.num_tokens:,}"),
        ("perplexity of the reference", f"{found.reference_perplexity:.4f}"),
        ("perplexity of the candidate", f"{found.perplexity:.4f} ({_change(found)})"),
        ("KL mean", f"{found.kl_mean:.3g} nats"),
        ("KL p99", f"{found.kl_p99:.3g} nats"),
        ("same likeliest token", f"{found.top1_agreement:.2%}"),
    ]
    if divergence is not None:
        lines.append((f"greedy, {divergence.num_tokens} tokens", _parting(divergence)))
    return "\n".join(f"{name:<30}{value}" for name, value in lines)


def _change(found: Quality) -> str:
    change = f"{found.perplexity_ratio - 1:+.3%}"
    return change if found.ratio_error is None else f"{change}, standard error {found.ratio_error:.3%}"


def _parting(divergence: Divergence) -> str:
    parted = [place for place in divergence.first if place is not None]
    whole = f"{len(divergence.first) - len(parted)} of {len(divergence.first)} texts the same"
    return f"{whole}; the first to differ after {min(parted)} tokens" if parted else whole
