"""Where and in which precision to compute, and what of the settings doesn't apply there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from reference_server.engine.errors import EngineConfigError
from reference_server.engine.threads import default_cpu_threads
from reference_server.kernels.gpu_kernels import gpu_kernels
from reference_server.kernels.library import kernel_library
from reference_server.models.linear import can_prepack

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def resolve_device(config: EngineConfig) -> torch.device:
    """The device of ``auto``, ``cpu`` or ``cuda``.

    Raises:
        EngineConfigError: It is none of them, or there is no such device.
    """
    if config.device not in ("auto", "cpu", "cuda"):
        raise EngineConfigError(f"device {config.device!r} is not known; say auto, cpu or cuda")
    has_cuda = torch.cuda.is_available()
    if config.device == "cuda" and not has_cuda:
        raise EngineConfigError("device 'cuda' was asked for, but torch finds none; say cpu or auto")
    return torch.device("cuda" if has_cuda and config.device != "cpu" else "cpu")


def resolve_dtype(config: EngineConfig, device: torch.device) -> torch.dtype:
    """The precision of computation.

    ``auto`` is bfloat16 where the device multiplies it natively, else float32 on a CPU and float16 on a GPU.

    Raises:
        EngineConfigError: The name is unknown.
    """
    if config.dtype != "auto" and config.dtype not in _DTYPES:
        raise EngineConfigError(f"dtype {config.dtype!r} is not known; say auto, {', '.join(_DTYPES)}")
    if device.type == "cpu":
        if config.dtype == "float16":
            return torch.bfloat16
        default = torch.bfloat16 if can_prepack() else torch.float32
    else:
        default = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return _DTYPES.get(config.dtype, default)


def device_notes(config: EngineConfig, device: torch.device, dtype: torch.dtype) -> list[str]:
    """What to tell the user once: settings that don't apply on this device, kernels that can't be had."""
    return _cpu_notes(config, dtype) if device.type == "cpu" else _cuda_notes(config)


def _cpu_notes(config: EngineConfig, dtype: torch.dtype) -> list[str]:
    notes = []
    if config.dtype == "float16":
        notes.append("dtype float16 is slow on a CPU: computing in bfloat16")
    if config.gpu_memory_utilization is not None:
        notes.append("gpu_memory_utilization does not apply on a CPU: cpu_kvcache_space sizes the KV pool")
    if config.enforce_eager:
        notes.append("enforce_eager does not apply on a CPU: every step runs eagerly there")
    if dtype is torch.bfloat16 and (note := kernel_library().note):
        notes.append(note)
    return notes


def _cuda_notes(config: EngineConfig) -> list[str]:
    notes = []
    if config.cpu_kvcache_space is not None:
        notes.append("cpu_kvcache_space does not apply on a GPU: gpu_memory_utilization sizes the KV pool")
    if config.cpu_threads is not None:
        notes.append("cpu_threads does not apply on a GPU")
    if config.speculative_config is not None:
        notes.append(
            "speculative_config: no step is begun before its turn, and those that verify drafts run "
            "without CUDA graphs"
        )
    if note := gpu_kernels().note:
        notes.append(note)
    return notes


def resolve_attention_backend(config: EngineConfig, device: torch.device) -> str:
    """The backend's name; ``auto`` is ``triton`` on a CUDA device where its kernels serve, else ``paged``."""
    if config.attention_backend != "auto":
        return config.attention_backend
    return "triton" if device.type == "cuda" and gpu_kernels().serve else "paged"


def set_threads(config: EngineConfig, device: torch.device) -> None:
    """Use ``cpu_threads`` threads, or all cores but one, for computation on a CPU."""
    if device.type == "cpu":
        torch.set_num_threads(config.cpu_threads or default_cpu_threads())
