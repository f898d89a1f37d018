"""What settings mean on a CUDA device, decided without one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from reference_server.engine import device as device_module
from reference_server.engine.activation_size import activation_bytes
from reference_server.engine.config import EngineConfig
from reference_server.engine.device import device_notes, resolve_attention_backend
from reference_server.engine.errors import EngineConfigError
from reference_server.engine.kv_size import resolve_block_size, resolve_num_blocks
from reference_server.kernels.gpu_kernels import GPUKernels
from reference_server.models.loaders.tiny_random import CONFIG

CUDA, CPU = torch.device("cuda"), torch.device("cpu")
GIB, MIB = 1 << 30, 1 << 20


def config(**settings: Any) -> EngineConfig:
    return EngineConfig(model="m", **settings)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device of 100 GiB, of which 60 are free."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (60 * GIB, 100 * GIB))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)


@pytest.mark.parametrize(
    ("settings", "expected_gib"),
    [
        ({}, 49),
        ({"gpu_memory_utilization": 0.9}, 49),
        ({"gpu_memory_utilization": 0.5}, 9),
        ({"gpu_memory_utilization": 1.0}, 59),
        ({"cpu_kvcache_space": 3.0}, 49),
    ],
    ids=str,
)
def test_the_pool_gets_its_share_of_the_device_less_what_is_used_and_kept(
    memory: None, settings: dict[str, Any], expected_gib: int
) -> None:
    del memory
    found = resolve_num_blocks(config(**settings), CUDA, MIB, max_blocks=10**9, reserve=GIB)
    assert found == pytest.approx(expected_gib * 1024, abs=1)


def test_a_share_that_was_not_asked_for_is_no_larger_than_all_sequences_need(memory: None) -> None:
    del memory
    assert resolve_num_blocks(config(), CUDA, MIB, max_blocks=500) == 500
    assert resolve_num_blocks(config(gpu_memory_utilization=0.9), CUDA, MIB, max_blocks=500) > 500


def test_a_share_below_what_is_used_names_the_setting(memory: None) -> None:
    del memory
    with pytest.raises(EngineConfigError, match="raise gpu_memory_utilization"):
        resolve_num_blocks(config(gpu_memory_utilization=0.4), CUDA, MIB, max_blocks=500)


def test_blocks_are_smaller_on_a_gpu() -> None:
    assert (resolve_block_size(config(), CUDA), resolve_block_size(config(), CPU)) == (16, 32)


def test_what_a_step_needs_grows_with_its_tokens_and_sequences() -> None:
    """512 tokens of 4 x 64 + 2 x 8 x 16 + 3 x 192 numbers, twice; 64 rows of 512 logits."""
    plain = activation_bytes(config(), CONFIG, torch.bfloat16)
    assert plain == 2 * 512 * (256 + 256 + 576) * 2 + 64 * 512 * 64
    assert activation_bytes(config(max_num_batched_tokens=1024), CONFIG, torch.bfloat16) > plain
    assert activation_bytes(config(max_num_seqs=128), CONFIG, torch.bfloat16) > plain
    drafts = config(speculative_config={"method": "ngram", "num_speculative_tokens": 3})
    assert activation_bytes(drafts, CONFIG, torch.bfloat16) == plain + 3 * 64 * 512 * 64


@pytest.mark.parametrize(
    ("asked", "device", "serve", "expected"),
    [
        ("auto", CUDA, True, "triton"),
        ("auto", CUDA, False, "paged"),
        ("auto", CPU, True, "paged"),
        ("dense", CUDA, True, "dense"),
        ("triton", CPU, False, "triton"),
    ],
)
def test_the_device_chooses_how_to_attend(
    monkeypatch: pytest.MonkeyPatch, asked: str, device: torch.device, serve: bool, expected: str
) -> None:
    monkeypatch.setattr(device_module, "gpu_kernels", lambda: GPUKernels(serve))
    assert resolve_attention_backend(config(attention_backend=asked), device) == expected


def test_what_does_not_apply_on_a_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "gpu_kernels", lambda: GPUKernels(serve=False, note="no Triton"))
    notes = device_notes(config(cpu_threads=2, cpu_kvcache_space=1.0), CUDA, torch.bfloat16)
    assert [note.split()[0] for note in notes] == ["cpu_kvcache_space", "cpu_threads", "no"]
    assert device_notes(config(), CPU, torch.float32) == []
    assert "enforce_eager" in device_notes(config(enforce_eager=True), CPU, torch.float32)[0]
