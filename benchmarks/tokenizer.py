"""The tokenizer for clients that can't do without one: the default model's, as a Hugging Face folder."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tokenpace"
_MODEL = _CACHE / "models" / "smollm2-135m" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def tokenizer_folder() -> Path:
    """The folder, made from the model's file when it is first asked for."""
    folder = _CACHE / "peers" / "tokenizer"
    if not (folder / "tokenizer_config.json").is_file():
        _make(folder)
    return folder


def _make(folder: Path) -> None:
    if not _MODEL.is_file():
        sys.exit(
            "clients.py: tokenpace model pull smollm2-135m first, or give a tokenizer with --tokenizer DIR"
        )
    from transformers import AutoTokenizer  # takes long to import

    made = AutoTokenizer.from_pretrained(_MODEL.parent, gguf_file=_MODEL.name)
    made.save_pretrained(folder)
    config = folder / "tokenizer_config.json"
    fields = json.loads(config.read_bytes())
    config.write_text(json.dumps({**fields, "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1))
