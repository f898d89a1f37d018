"""What a decoding step has to read and to compute, and how long that takes at least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.models.config import ModelConfig
    from reference_server.roofline.machine import Machine


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """Of one token for each of ``batch_size`` sequences of ``context`` tokens.

    Attributes:
        weight_bytes: Read once, however many sequences there are.
        kv_bytes: Keys and values that are read.
        linear_operations: Of the linear layers, two for each multiply-add.
        attention_operations: Of scores and weighted sums.
    """

    weight_bytes: int
    kv_bytes: int
    linear_operations: int
    attention_operations: int


@dataclass(frozen=True)
class Floor:
    """The least time of a step, in seconds, by what it reads and by what it computes."""

    memory_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        """The longer one, as both may go on at once."""
        return max(self.memory_s, self.compute_s)

    @property
    def bound_by(self) -> str:
        """Which that is."""
        return "memory" if self.memory_s >= self.compute_s else "compute"


def num_linear_weights(config: ModelConfig) -> int:
    """Weights of all linear layers, the output head among them."""
    attention = config.hidden_size * config.head_dim * 2 * (config.num_heads + config.num_kv_heads)
    mlp = 3 * config.hidden_size * config.intermediate_size
    return config.num_layers * (attention + mlp) + config.vocab_size * config.hidden_size


def step_cost(
    config: ModelConfig, *, weight_bytes: int, kv_itemsize: int, batch_size: int, context: int
) -> StepCost:
    """The cost of a step.

    Args:
        config: Shape of the model.
        weight_bytes: Of all linear layers, as they lie in memory.
        kv_itemsize: Bytes of one number in the KV pool.
        batch_size: Sequences.
        context: Tokens that each attends to.
    """
    tokens, layers = batch_size * context, config.num_layers
    return StepCost(
        weight_bytes=weight_bytes,
        kv_bytes=2 * layers * config.num_kv_heads * config.head_dim * kv_itemsize * tokens,
        linear_operations=2 * num_linear_weights(config) * batch_size,
        attention_operations=4 * layers * config.num_heads * config.head_dim * tokens,
    )


def floor(cost: StepCost, machine: Machine, *, in_int8: bool) -> Floor:
    """The least time on a machine. Linear layers in 8 bits or bfloat16; attention is in bfloat16."""
    rate = machine.int8_rate if in_int8 else machine.bfloat16_rate
    return Floor(
        (cost.weight_bytes + cost.kv_bytes) / machine.read_rate,
        cost.linear_operations / rate + cost.attention_operations / machine.bfloat16_rate,
    )
