"""Steps of decoding: eager against graph, batch 1 and 32, and how far from what memory allows."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import torch
from clock import host_us
from random_model import make_engine, num_weight_bytes, request, shape

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine
    from reference_server.models.config import ModelConfig

CONTEXT = 512
BATCH_SIZES = (1, 32)


def measure(found: dict[str, Any], quick: bool) -> dict[str, Any]:
    """Whole steps of the engine, scheduling and sampling included, as a server makes them."""
    config, num_steps = shape(quick), 20 if quick else 60
    read_rate = found["roofline"]["read_gb_per_s"]
    figures: dict[str, Any] = {"weight_gb": num_weight_bytes(config) / 1e9}
    for mode, is_eager in {"graph": False, "eager": True}.items():
        engine = make_engine(config, max_num_seqs=32, max_num_batched_tokens=2048, enforce_eager=is_eager)
        for batch_size in BATCH_SIZES:
            microseconds = decode_step_us(engine, config, batch_size, num_steps)
            figures[f"{mode}, batch {batch_size}"] = row(config, batch_size, microseconds, read_rate)
        del engine
        gc.collect()
        torch.cuda.empty_cache()
    for batch_size in BATCH_SIZES:
        eager, graph = (figures[f"{mode}, batch {batch_size}"]["step_us"] for mode in ("eager", "graph"))
        figures[f"eager / graph, batch {batch_size}"] = eager / graph
    return figures


def decode_step_us(engine: Engine, config: ModelConfig, batch_size: int, num_steps: int) -> float:
    """Median of a step in which every sequence decodes, at a context of about ``CONTEXT``."""
    for number in range(batch_size):
        engine.add(request(number, CONTEXT, num_steps + 20, config.vocab_size))
    for _ in range(200):
        engine.step()
        if engine.stats.step_tokens == batch_size == engine.stats.num_running:
            break
    for _ in range(5):
        engine.step()
    microseconds = host_us(engine.step, num_steps)
    for number in range(batch_size):
        engine.abort(str(number))
    return microseconds


def row(config: ModelConfig, batch_size: int, microseconds: float, read_rate: float) -> dict[str, float]:
    """A step's time, and the share of it that reading weights, keys and values must take."""
    kv_bytes = 2 * config.num_layers * config.num_kv_heads * config.head_dim * 2 * CONTEXT * batch_size
    num_bytes = num_weight_bytes(config) + kv_bytes
    floor = num_bytes / read_rate / 1e3
    return {
        "step_us": microseconds,
        "tokens_per_s": batch_size * 1e6 / microseconds,
        "memory_floor_us": floor,
        "share_of_bandwidth": floor / microseconds,
    }
