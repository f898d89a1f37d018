"""``roofline``: how near decoding comes to what this machine allows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from reference_server.engine.threads import default_cpu_threads, prepare_threads
from reference_server.model_store.errors import ModelStoreError
from reference_server.models.errors import ModelError
from reference_server.settings import ConfigError, load_config

if TYPE_CHECKING:
    from reference_server.roofline.machine import Machine
    from reference_server.roofline.measurement import Row

_HEAD = ("sequences", "weights MB", "KV MB", "GOP", "memory ms", "compute ms", "bound by", "measured ms")


@click.command(short_help="How near decoding comes to what this machine allows.")
@click.argument("model", default="smollm2-135m")
@click.option("--batch", default="1,4,16,32", show_default=True, metavar="N,N", help="Sequences that decode.")
@click.option("--context", default=256, show_default=True, type=click.IntRange(32), help="Tokens of each.")
@click.option("--cpu-threads", type=click.IntRange(1), help="That compute; left out, all cores but one.")
@click.option("--dtype", default="auto", show_default=True, help="As of serve.")
@click.option("--quantization", help="As of serve.")
def roofline(
    model: str, batch: str, context: int, cpu_threads: int | None, dtype: str, quantization: str | None
) -> None:
    """Calibrate this machine's CPU, time decoding steps of MODEL, hold them against the least they can take.

    The least is the longer of two times: to read all weights, and the keys and values of all sequences, from
    memory; and to do all multiplications, in 8 bits where the weights are quantized, at the rate of a large
    matrix product. 100 % would be that limit.
    """
    sizes = _sizes(batch)
    prepare_threads()
    # Heavy: imports torch.
    from reference_server.engine.engine import load_engine
    from reference_server.roofline.machine import calibrate
    from reference_server.roofline.measurement import STEP_TOKENS, measure

    threads = cpu_threads or default_cpu_threads()
    try:
        settings = {"model": model, "dtype": dtype, "quantization": quantization, "cpu_threads": threads}
        own = {
            "device": "cpu",
            "max_num_seqs": max(sizes),
            "max_num_batched_tokens": STEP_TOKENS,
            "long_prefill_token_threshold": 0,
            "enable_prefix_caching": False,
        }
        config = load_config(flags={**settings, **own}).to_engine_config()
        engine = load_engine(config)
    except (ConfigError, ModelError, ModelStoreError, ValueError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    machine = calibrate(threads)
    click.echo(_describe(machine))
    click.echo(table(measure(engine, config, machine, batch_sizes=sizes, context=context)))


def _sizes(batch: str) -> list[int]:
    try:
        sizes = [int(part) for part in batch.split(",")]
    except ValueError:
        raise click.UsageError(f"--batch takes numbers with commas between them, not {batch!r}") from None
    if min(sizes) < 1:
        raise click.UsageError("--batch takes numbers from 1 on")
    return sizes


def _describe(machine: Machine) -> str:
    return (
        f"{machine.threads} thread{'s' * (machine.threads > 1)}: reads {machine.read_rate / 1e9:.1f} GB/s, "
        f"multiplies {machine.bfloat16_rate / 1e9:.0f} GFLOP/s in bfloat16, "
        f"{machine.int8_rate / 1e9:.0f} GOP/s in int8"
    )


def table(rows: list[Row]) -> str:
    """A line for each batch size."""
    lines = ["".join(f"{head:>12}" for head in (*_HEAD, "of limit"))]
    for row in rows:
        cost, operations = row.cost, row.cost.linear_operations + row.cost.attention_operations
        cells = (
            str(row.batch_size),
            f"{cost.weight_bytes / 1e6:.1f}",
            f"{cost.kv_bytes / 1e6:.1f}",
            f"{operations / 1e9:.2f}",
            f"{row.floor.memory_s * 1e3:.2f}",
            f"{row.floor.compute_s * 1e3:.2f}",
            row.floor.bound_by,
            f"{row.step_s * 1e3:.2f}",
            f"{row.distance:.0%}",
        )
        lines.append("".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)
