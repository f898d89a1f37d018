"""Options of vLLM that users may try and that are not built: refused by name, with what holds instead."""

from __future__ import annotations

NOT_BUILT_QUANTIZATION = frozenset({"int4", "fp8", "awq", "gptq"})

_ONE_DEVICE = "one process serves on one device"
_NO_LORA = "adapters are not served"
_NO_TOOLS = "tool calls are not served"
_NO_TLS = "put a proxy in front for TLS"
_OWN_TOKENIZER = "the tokenizer of the model's own file or folder is used"
_LOCAL_FILES = "give the path of local files; nothing is fetched from a hub"
_TEXT_ONLY = "text in, text out"
_OWN_KERNELS = "nothing is compiled but the kernels; enforce_eager says whether a GPU records graphs"

NOT_BUILT: dict[str, str] = {
    "allowed_headers": "no cross-origin headers are sent",
    "allowed_methods": "no cross-origin headers are sent",
    "allowed_origins": "no cross-origin headers are sent",
    "api_server_count": "one process serves HTTP",
    "async_scheduling": "a step is scheduled when the one before it is done",
    "chat_template": "the model's own template is used",
    "compilation_config": _OWN_KERNELS,
    "cpu_offload_gb": "all weights lie on the device",
    "data_parallel_size": _ONE_DEVICE,
    "download_dir": _LOCAL_FILES,
    "enable_auto_tool_choice": _NO_TOOLS,
    "enable_expert_parallel": _ONE_DEVICE,
    "enable_lora": _NO_LORA,
    "generation_config": "sampling values that a request leaves out are those of the OpenAI API",
    "hf_overrides": "the model's own configuration is used",
    "hf_token": _LOCAL_FILES,
    "kv_cache_dtype": "keys and values have the dtype of the computation",
    "kv_cache_memory_bytes": "set gpu_memory_utilization or cpu_kvcache_space",
    "kv_transfer_config": "prefill and decoding run in one engine",
    "limit_mm_per_prompt": _TEXT_ONLY,
    "load_format": "the file's own form decides",
    "lora_modules": _NO_LORA,
    "max_long_partial_prefills": "long_prefill_token_threshold bounds the share of a long prompt",
    "max_logprobs": "a request may ask for 20",
    "max_num_partial_prefills": "long_prefill_token_threshold bounds the share of a long prompt",
    "max_num_queued_tokens": "max_num_queued_reqs bounds the queue",
    "override_generation_config": "sampling values that a request leaves out are those of the OpenAI API",
    "pipeline_parallel_size": _ONE_DEVICE,
    "reasoning_parser": "what the model writes is all content",
    "revision": _LOCAL_FILES,
    "root_path": "paths begin at /",
    "runner": "the server generates text",
    "ssl_certfile": _NO_TLS,
    "ssl_keyfile": _NO_TLS,
    "stream_interval": "each step's tokens are sent at once",
    "structured_outputs_config": "output is not constrained",
    "swap_space": "a preempted sequence is computed again",
    "tensor_parallel_size": _ONE_DEVICE,
    "tokenizer": _OWN_TOKENIZER,
    "tokenizer_mode": _OWN_TOKENIZER,
    "tool_call_parser": _NO_TOOLS,
    "trust_remote_code": "no code of a model is ever run",
}
