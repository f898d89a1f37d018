"""Fields beyond those that are built: refused by name where they would change the answer, else accepted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from reference_server.api.errors import bad_request

if TYPE_CHECKING:
    from collections.abc import Mapping

_logger = logging.getLogger(__name__)

NEUTRAL: dict[str, tuple[Any, ...]] = {
    "allowed_token_ids": (),
    "audio": (),
    "bad_words": ([],),
    "best_of": (1,),
    "chat_template": (),
    "documents": ([],),
    "echo": (False,),
    "function_call": ("none", "auto"),
    "functions": ([],),
    "guided_choice": (),
    "guided_grammar": (),
    "guided_json": (),
    "guided_regex": (),
    "length_penalty": (1.0,),
    "logprob_token_ids": ([],),
    "modalities": (["text"],),
    "prediction": (),
    "prompt_embeds": (),
    "repetition_detection": (),
    "response_format": ({"type": "text"},),
    "return_prompt_text": (False,),
    "return_token_offsets": (False,),
    "spaces_between_special_tokens": (True,),
    "stream_interval": (1,),
    "structured_outputs": ({},),
    "suffix": ("",),
    "thinking_token_budget": (),
    "tool_choice": ("none", "auto"),
    "tools": ([],),
    "use_beam_search": (False,),
    "vllm_xargs": ({},),
    "watermarking": (),
    "web_search_options": (),
}
"""Known fields that are not built, with the values that ask for nothing."""

WITHOUT_EFFECT = frozenset(
    {
        "ec_transfer_params",
        "include_reasoning",
        "kv_transfer_params",
        "media_io_kwargs",
        "metadata",
        "mm_processor_kwargs",
        "parallel_tool_calls",
        "prompt_cache_key",
        "routed_experts_prompt_start",
        "safety_identifier",
        "service_tier",
        "session_id",
        "store",
        "user",
        "verbosity",
    }
)
"""Known fields that never change the text that this server writes."""

MAX_REMEMBERED = 1000
_seen: set[str] = set()


def check_extra_fields(extra: Mapping[str, Any] | None) -> None:
    """Refuse what is known and not built; log what is unknown, once.

    Raises:
        ApiError: 400 naming the field.
    """
    for name, value in (extra or {}).items():
        if name in NEUTRAL:
            if value not in NEUTRAL[name]:
                raise bad_request(f"{name} is not supported by this server; leave it out.", name)
        elif name not in WITHOUT_EFFECT:
            _log_once(name)


def _log_once(name: str) -> None:
    if name not in _seen and len(_seen) < MAX_REMEMBERED:
        _seen.add(name)
        _logger.warning("request field %.64r is unknown and has no effect", name)
