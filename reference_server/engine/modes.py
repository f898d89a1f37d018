"""Which ways of working go together, and what of the settings doesn't apply in them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from reference_server import batching, kv_allocation, kv_cache
from reference_server.engine.errors import EngineConfigError
from reference_server.extensions import extension_names

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig


def resolve_modes(config: EngineConfig) -> tuple[EngineConfig, list[str]]:
    """The settings as they hold, and what to tell the user once.

    Raises:
        EngineConfigError: A way is unknown, or two don't go together.
    """
    _check_names(config)
    keeps = kv_cache.kv_cache(config.kv_cache).keeps
    if not keeps:
        _check_without_cache(config)
    shares = keeps and kv_allocation.kv_allocation(config.kv_allocation).shares_blocks
    if shares or not config.enable_prefix_caching:
        return config, []
    way = f"kv_allocation {config.kv_allocation}" if keeps else f"kv_cache {config.kv_cache}"
    note = f"enable_prefix_caching does not apply with {way}: every prompt is computed whole"
    return msgspec.structs.replace(config, enable_prefix_caching=False), [note]


def _check_names(config: EngineConfig) -> None:
    for package in (batching, kv_allocation, kv_cache):
        name = package.__name__.rpartition(".")[2]
        value, known = getattr(config, name), extension_names(sys.modules[package.__name__])
        if value not in known:
            raise EngineConfigError(f"{name} {value!r} is not known; say {' or '.join(known)}")


def _check_without_cache(config: EngineConfig) -> None:
    """Refuse what can't be done, or would not be what its name says."""
    if config.speculative_config is not None:
        raise EngineConfigError(
            "speculative_config verifies drafts on top of cached keys and values; leave it out, or kv_cache "
            "on"
        )
    if not config.enable_chunked_prefill:
        raise EngineConfigError(
            "kv_cache off computes whole sequences again, over several steps where the budget ends; leave it "
            "out or enable_chunked_prefill on"
        )
