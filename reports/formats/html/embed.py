"""Data and script inside the page, such that no content can end them early."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from markupsafe import Markup

_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def json_for_script(data: Any) -> Markup:  # noqa: ANN401 (any JSON)
    """Strict JSON that holds no markup and is safe inside a script element.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.translate(_ESCAPES))  # noqa: S704 (every character that could be markup is escaped)


def csp_hash(script: str) -> str:
    """The digest by which a content security policy allows ``script`` and nothing else."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
