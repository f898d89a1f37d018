"""The least time of a step, on paper, and the command on a tiny model."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from reference_server.commands.roofline import roofline
from reference_server.models.config import ModelConfig
from reference_server.roofline.machine import Machine
from reference_server.roofline.step_cost import floor, num_linear_weights, step_cost

SMOLLM2 = ModelConfig(
    architecture="llama",
    vocab_size=49152,
    hidden_size=576,
    intermediate_size=1536,
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    head_dim=64,
    rms_norm_eps=1e-5,
    rope_theta=1e5,
    max_model_len=8192,
    eos_token_ids=(2,),
    tie_word_embeddings=True,
)
MACHINE = Machine(1, read_rate=30e9, bfloat16_rate=185e9, int8_rate=257e9)


def test_smollm2_has_134_million_linear_weights() -> None:
    assert num_linear_weights(SMOLLM2) == pytest.approx(134.5e6, rel=1e-3)


def test_one_sequence_is_bound_by_memory_and_many_by_computing() -> None:
    def least(batch_size: int, context: int) -> tuple[str, float]:
        cost = step_cost(
            SMOLLM2, weight_bytes=134_500_000, kv_itemsize=2, batch_size=batch_size, context=context
        )
        found = floor(cost, MACHINE, in_int8=True)
        return found.bound_by, found.seconds * 1e3

    bound_by, milliseconds = least(1, 1)
    assert (bound_by, round(milliseconds, 1)) == ("memory", 4.5)
    bound_by, milliseconds = least(32, 1)
    assert (bound_by, round(milliseconds, 1)) == ("compute", 33.5)


def test_keys_and_values_are_read_for_each_token_of_context() -> None:
    cost = step_cost(SMOLLM2, weight_bytes=0, kv_itemsize=2, batch_size=8, context=512)
    assert cost.kv_bytes == 8 * 512 * 23_040
    assert cost.attention_operations == 8 * 512 * 69_120


def test_the_command_prints_a_line_for_each_batch_size() -> None:
    found = CliRunner().invoke(roofline, ["tiny-random", "--batch", "1,3", "--context", "40"])
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert "GB/s" in lines[0]
    assert [line.split()[0] for line in lines[2:]] == ["1", "3"]
    assert all(line.endswith("%") for line in lines[2:])


@pytest.mark.parametrize("batch", ["a", "0", "1,,2"])
def test_bad_batch_sizes_are_refused(batch: str) -> None:
    found = CliRunner().invoke(roofline, ["tiny-random", "--batch", batch])
    assert found.exit_code == 2
    assert "--batch" in found.output


def test_a_model_that_is_not_there_is_named() -> None:
    found = CliRunner().invoke(roofline, ["no-such-model"])
    assert found.exit_code == 2
    assert "no-such-model" in found.output
