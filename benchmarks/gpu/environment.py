"""What the figures were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from typing import Any

import torch

PACKAGES = ("torch", "triton", "transformers", "flash-attn")


def describe() -> dict[str, Any]:
    """Date, device and versions."""
    has_device = torch.cuda.is_available()
    properties = torch.cuda.get_device_properties(0) if has_device else None
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "device": properties.name if properties else "",
        "capability": ".".join(map(str, torch.cuda.get_device_capability())) if has_device else "",
        "multiprocessors": properties.multi_processor_count if properties else 0,
        "memory_gib": round(properties.total_memory / 2**30, 1) if properties else 0,
        "cuda": str(torch.version.cuda),
        "python": platform.python_version(),
        "cpu_cores": os.cpu_count(),
        **{name: version(name) for name in PACKAGES},
    }


def version(package: str) -> str:
    """Of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
