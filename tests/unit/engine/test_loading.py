"""Settings that can't be met are refused by name; those that don't apply are told once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from reference_server.attention import UnsupportedBackendError
from reference_server.engine.engine import Engine
from reference_server.engine.errors import EngineConfigError
from reference_server.engine.threads import default_cpu_threads, prepare_threads
from reference_server.kernels.library import kernel_library
from reference_server.models.errors import ModelNotFoundError
from reference_server.quantization import UnsupportedQuantizationError

MakeEngine = Callable[..., Engine]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"dtype": "float8"}, EngineConfigError, "dtype 'float8'"),
        ({"device": "tpu"}, EngineConfigError, "device 'tpu'"),
        (
            {"quantization": "awq"},
            UnsupportedQuantizationError,
            "'awq' is not built yet; there are gguf, int8, none",
        ),
        ({"quantization": "gguf"}, UnsupportedQuantizationError, "needs a .gguf file"),
        (
            {"attention_backend": "flash"},
            UnsupportedBackendError,
            "'flash' is not built; there are dense, paged",
        ),
        ({"model": "/nowhere"}, ModelNotFoundError, "no model at '/nowhere'"),
        ({"max_model_len": 5000}, EngineConfigError, "made for 4096"),
        ({"max_model_len": 100, "num_gpu_blocks_override": 1}, EngineConfigError, "holds 32 tokens"),
        ({"cpu_kvcache_space": 0.0}, EngineConfigError, "raise cpu_kvcache_space"),
        ({"num_gpu_blocks_override": 0}, EngineConfigError, "num_gpu_blocks_override is 0"),
        ({"max_num_seqs": 0}, EngineConfigError, "max_num_seqs is 0"),
        ({"max_num_batched_tokens": -1}, EngineConfigError, "max_num_batched_tokens is -1"),
        ({"cpu_threads": 0}, EngineConfigError, "cpu_threads is 0"),
        ({"block_size": 0}, EngineConfigError, "block_size is 0"),
    ],
)
def test_what_can_not_be_met_is_refused_by_name(
    make_engine: MakeEngine, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make_engine(**settings)


def test_more_positions_than_the_model_has_are_refused_before_anything_is_built(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of a hundred million positions takes half a minute, in which the server would seem to hang."""
    monkeypatch.setattr("reference_server.engine.loading.build_model", None)
    with pytest.raises(EngineConfigError, match="made for 4096 positions; lower it"):
        make_engine(max_model_len=99_999_999)


def test_what_does_not_apply_on_a_cpu_is_said_once(make_engine: MakeEngine) -> None:
    info = make_engine(dtype="float16", gpu_memory_utilization=0.5).info
    assert info.dtype == "bfloat16"
    assert len(info.notes) == 2 + bool(kernel_library().note)
    assert "float16" in info.notes[0]
    assert "gpu_memory_utilization" in info.notes[1]


def test_a_small_pool_shortens_the_longest_sequence_and_says_so(make_engine: MakeEngine) -> None:
    info = make_engine(block_size=16, num_gpu_blocks_override=10).info
    assert info.max_model_len == 160
    assert "160" in info.notes[0]


def test_the_pool_follows_the_memory_it_is_given(make_engine: MakeEngine) -> None:
    """4 layers x 32 tokens x 2 x 2 heads x 16 x 4 bytes make 32 KiB a block."""
    assert make_engine(cpu_kvcache_space=32 * 1024 * 200 / 2**30).info.num_blocks == 200


def test_the_pool_is_no_larger_than_all_sequences_can_use(make_engine: MakeEngine) -> None:
    assert make_engine(max_num_seqs=2, max_model_len=64).info.num_blocks == 4


def test_info_describes_the_model(engine: Engine) -> None:
    info = engine.info
    assert (info.vocab_size, info.eos_token_ids, info.max_model_len) == (512, (1,), 4096)
    assert info.num_parameters * 4 == info.weight_bytes
    assert (info.dtype, info.device, info.notes) == ("float32", "cpu", ())


def test_seeds_draw_other_weights(make_engine: MakeEngine) -> None:
    def first_weight(seed: int) -> float:
        return float(make_engine(seed=seed)._computing._runner._model.model.embed_tokens.weight[0, 0])

    assert first_weight(1) == first_weight(1) != first_weight(2)


def test_threads_leave_a_core_and_wait_passively(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert default_cpu_threads() == 3
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    assert default_cpu_threads() == 1
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    for name in ("GOMP_SPINCOUNT", "KMP_BLOCKTIME"):
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    assert not prepare_threads(), "torch is imported already"
    assert (os.environ["OMP_WAIT_POLICY"], os.environ["GOMP_SPINCOUNT"]) == ("active", "0")
