"""What the server says when it is ready: one block that tells what runs where, and notes once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.request import EngineInfo


def banner(names: tuple[str, ...], info: EngineInfo, address: str, version: str) -> str:
    """The block, with a last line break."""
    capacity = info.num_blocks * info.block_size
    size = f"{_millions(info.num_parameters)} parameters, {_mib(info.weight_bytes)}"
    rows = {
        "model": f"{', '.join(names)} ({size})",
        "compute": f"{info.dtype} on {info.device}",
        "context": f"{info.max_model_len} tokens at most, prompt and output together",
        "KV cache": f"{capacity} tokens ({info.num_blocks} blocks of {info.block_size})",
        "address": f"{address}/v1",
    }
    if modes := _modes(info):
        rows["modes"] = modes
    if info.speculation:
        rows["drafts"] = info.speculation
    lines = [f"tokenpace reference server {version}", *(f"  {name:<9} {text}" for name, text in rows.items())]
    lines += [f"  note      {note}" for note in info.notes]
    return "\n".join(lines) + "\n"


def _modes(info: EngineInfo) -> str:
    """Ways of working that are not the usual ones."""
    ways = {
        "batching": (info.batching, "continuous"),
        "kv_allocation": (info.kv_allocation, "paged"),
        "kv_cache": (info.kv_cache, "on"),
    }
    return ", ".join(f"{name} {way}" for name, (way, usual) in ways.items() if way != usual)


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f} M"


def _mib(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.0f} MiB"
