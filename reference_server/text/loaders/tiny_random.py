"""``tiny-random``: bytes, and a template without any markup."""

from __future__ import annotations

from reference_server.text.byte_tokenizer import ByteTokenizer
from reference_server.text.chat_template import ChatTemplate
from reference_server.text.loaders import TextSide

TEMPLATE = """\
{%- for message in messages %}
{%- if message.role not in ('system', 'developer', 'user', 'assistant', 'tool') %}
{{- raise_exception("unknown role '" ~ message.role ~ "'; use system, user or assistant") }}
{%- endif %}
{{- message.role ~ ': ' ~ (message.content or '') ~ '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- 'assistant: ' }}
{%- endif %}
"""


def accepts(model: str) -> bool:
    """Only its own name."""
    return model == "tiny-random"


def load(model: str) -> TextSide:
    """Needs no file."""
    del model
    return TextSide(ByteTokenizer(), ChatTemplate(TEMPLATE, {"bos_token": "<bos>", "eos_token": "<eos>"}))
