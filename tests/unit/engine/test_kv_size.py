"""How many KV blocks a machine, a container and a user's wish allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from reference_server.engine import kv_size
from reference_server.engine.config import EngineConfig
from reference_server.engine.errors import EngineConfigError
from reference_server.engine.free_memory import free_memory_bytes
from reference_server.engine.kv_size import resolve_num_blocks

if TYPE_CHECKING:
    from pathlib import Path

CPU = torch.device("cpu")
MIB, GIB = 1 << 20, 1 << 30
FULL = 500


def num_blocks(**settings: Any) -> int:
    """Blocks of 1 MiB; 500 are what all sequences at full length would fill."""
    return resolve_num_blocks(EngineConfig(model="m", **settings), CPU, MIB, FULL)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with 1,200 MiB free."""
    monkeypatch.setattr(kv_size, "free_memory_bytes", lambda: 1200 * MIB)
    return monkeypatch


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 300),
        ({"cpu_kvcache_space": 0.25}, 256),
        ({"cpu_kvcache_space": 2}, 2048),
        ({"cpu_kvcache_space": 2, "enable_prefix_caching": False}, FULL),
        ({"num_gpu_blocks_override": 7, "cpu_kvcache_space": 2}, 7),
        ({"gpu_memory_utilization": 0.5}, 300),
    ],
    ids=str,
)
def test_blocks_of_a_cpu(free: None, settings: dict[str, Any], expected: int) -> None:
    del free
    assert num_blocks(**settings) == expected


def test_what_nobody_asked_for_is_a_quarter_of_free_memory_and_one_gib_at_most(
    free: pytest.MonkeyPatch,
) -> None:
    config = EngineConfig(model="m")
    assert resolve_num_blocks(config, CPU, MIB, 10_000) == 300
    free.setattr(kv_size, "free_memory_bytes", lambda: 100 * GIB)
    assert resolve_num_blocks(config, CPU, MIB, 10_000) == 1024


def test_no_room_for_a_block_names_the_setting(free: pytest.MonkeyPatch) -> None:
    free.setattr(kv_size, "free_memory_bytes", lambda: 0)
    with pytest.raises(EngineConfigError, match="cpu_kvcache_space"):
        num_blocks()


def test_free_memory_is_the_lesser_of_machine_and_container(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    assert free_memory_bytes(meminfo, tmp_path) == 4 * GIB, "nobody tells"
    meminfo.write_text("MemTotal: 9000000 kB\nMemFree: 10 kB\nMemAvailable: 2048 kB\n")
    assert free_memory_bytes(meminfo, tmp_path) == 2 * MIB
    (tmp_path / "memory.current").write_text("1000\n")
    (tmp_path / "memory.stat").write_text("anon 600\ninactive_file 300\nactive_file 100\nfile 400\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory_bytes(meminfo, tmp_path) == 2 * MIB
    (tmp_path / "memory.max").write_text("5000\n")
    assert free_memory_bytes(meminfo, tmp_path) == 4400, "1000 are used, of which 400 can be dropped"
    (tmp_path / "memory.max").write_text("500\n")
    assert free_memory_bytes(meminfo, tmp_path) == 0
    assert free_memory_bytes() > 0
