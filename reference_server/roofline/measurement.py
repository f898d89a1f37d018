"""A model's decoding steps, measured and held against the least time they can take."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.models.loaders import load_checkpoint
from reference_server.roofline.step_cost import StepCost, floor, num_linear_weights, step_cost

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig
    from reference_server.engine.engine import Engine
    from reference_server.roofline.machine import Machine
    from reference_server.roofline.step_cost import Floor

STEP_TOKENS = 4096
"""The budget of a step that the engine must have, so that prompts are through soon."""

_NUM_STEPS = 12
_INT8_BYTES = 1.5
"""Weights of fewer bytes each are quantized, and multiplied in 8 bits."""


@dataclass(frozen=True)
class Row:
    """One batch size.

    Attributes:
        batch_size: Sequences.
        cost: Of their step.
        floor: What it takes at least.
        step_s: What it took, median.
    """

    batch_size: int
    cost: StepCost
    floor: Floor
    step_s: float

    @property
    def distance(self) -> float:
        """The share of the limit that is reached: 1 would be the limit itself."""
        return self.floor.seconds / self.step_s


def measure(
    engine: Engine, config: EngineConfig, machine: Machine, *, batch_sizes: list[int], context: int
) -> list[Row]:
    """Let the engine decode as many sequences of ``context`` tokens as each batch size says.

    The rows of the embedding that a step reads, and the norms, are left out: they are next to nothing.
    """
    shape = load_checkpoint(config.model, config.seed).config
    itemsize = 4 if engine.info.dtype == "float32" else 2
    weight_bytes = engine.info.weight_bytes - shape.vocab_size * shape.hidden_size * itemsize
    in_int8 = weight_bytes < _INT8_BYTES * num_linear_weights(shape)
    rows = []
    for batch_size in batch_sizes:
        cost = step_cost(
            shape,
            weight_bytes=weight_bytes,
            kv_itemsize=itemsize,
            batch_size=batch_size,
            context=context,
        )
        least = floor(cost, machine, in_int8=in_int8)
        rows.append(Row(batch_size, cost, least, median_step_s(engine, batch_size, context)))
    return rows


def median_step_s(engine: Engine, batch_size: int, context: int) -> float:
    """Seconds that a step takes in which so many sequences decode, and nothing else."""
    rng = random.Random(batch_size)
    tokens = range(engine.info.vocab_size)
    num_prefill_steps = 1 + batch_size * context // (STEP_TOKENS - batch_size)
    num_tokens = num_prefill_steps + _NUM_STEPS  # whoever is first still decodes when the last one begins
    for number in range(batch_size):
        sampling = SamplingParams(max_tokens=num_tokens, seed=0, temperature=0.0, ignore_eos=True)
        prompt = rng.choices(tokens, k=max(1, context - num_tokens // 2))
        engine.add(EngineRequest(request_id=f"{number}", prompt_token_ids=prompt, sampling=sampling))
    times: list[float] = []
    while engine.has_work:
        begin_ns = time.perf_counter_ns()
        outputs = engine.step()
        if len(outputs) == engine.stats.step_tokens == batch_size:
            times.append((time.perf_counter_ns() - begin_ns) / 1e9)
    return statistics.median(times)
