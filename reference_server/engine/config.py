"""What the engine needs to know to load and run: resolved values, no defaults from files or environment."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class EngineConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Resolved engine settings (names as vLLM's).

    Attributes:
        model: Path of a ``.gguf`` file or of a Hugging Face folder, or ``tiny-random``.
        quantization: ``none``, ``gguf`` or ``int8`` (None: as the file says).
        dtype: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        device: ``auto``, ``cpu`` or ``cuda``.
        block_size: Tokens a KV block holds; None chooses by device.
        max_model_len: Prompt and output together; None takes the model's own.
        max_num_seqs: Sequences in the running batch at most.
        max_num_batched_tokens: Token budget of a step.
        enable_chunked_prefill: A prompt may be computed over several steps.
        long_prefill_token_threshold: Tokens of one prompt in a step while other sequences live; 0: no limit;
            None: for prompts that take several steps, what keeps a step within 2.4 times one of decoding.
        enable_prefix_caching: Prompts that begin alike compute their beginning once.
        scheduling_policy: ``fcfs`` or ``priority``.
        batching: ``continuous`` or ``static``: :mod:`reference_server.batching`.
        kv_allocation: ``paged`` or ``contiguous``: :mod:`reference_server.kv_allocation`.
        kv_cache: ``on`` or ``off``: :mod:`reference_server.kv_cache`.
        gpu_memory_utilization: Share of the device's memory for weights and KV (CUDA only); None takes 0.9.
        cpu_kvcache_space: GiB for KV blocks on a CPU; None chooses.
        num_gpu_blocks_override: Number of KV blocks, whatever the memory; for tests and experiments.
        cpu_threads: Threads for computation on a CPU; None leaves a core to the HTTP side.
        attention_backend: ``auto`` (by device), ``paged``, ``triton``, or ``dense``, the slow specification.
        enforce_eager: Record no CUDA graphs (CUDA only).
        speculative_config: ``method`` and its keys: :mod:`reference_server.speculative`; None drafts nothing.
        seed: For random weights.
    """

    model: str
    quantization: str | None = None
    dtype: str = "auto"
    device: str = "auto"
    block_size: int | None = None
    max_model_len: int | None = None
    max_num_seqs: int = 64
    max_num_batched_tokens: int = 512
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int | None = None
    enable_prefix_caching: bool = True
    scheduling_policy: Literal["fcfs", "priority"] = "fcfs"
    batching: str = "continuous"
    kv_allocation: str = "paged"
    kv_cache: str = "on"
    gpu_memory_utilization: float | None = None
    cpu_kvcache_space: float | None = None
    num_gpu_blocks_override: int | None = None
    cpu_threads: int | None = None
    attention_backend: str = "auto"
    enforce_eager: bool = False
    speculative_config: dict[str, Any] | None = None
    seed: int = 0
