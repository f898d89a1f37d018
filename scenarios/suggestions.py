"""The words that were probably meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# What other load generators call the same thing.
_SYNONYMS: Final = {
    "qps": "rate",
    "rps": "rate",
    "request_rate": "rate",
    "request-rate": "rate",
    "num_prompts": "requests",
    "num_requests": "requests",
    "max_requests": "requests",
    "users": "concurrency",
    "vus": "concurrency",
    "max_concurrency": "max_in_flight",
    "warm_up": "warmup",
    "ramp_up": "ramp",
    "sla": "thresholds",
    "slo": "thresholds",
    "path": "file",
    "type": "source",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean 'rate'?``, or the list of what is known where nothing is near."""
    names = sorted(known)
    nearest = difflib.get_close_matches(word.lower().replace("-", "_"), names, n=1, cutoff=0.6)
    synonym = _SYNONYMS.get(word.lower())
    if synonym in names:
        return f"did you mean '{synonym}'?"
    if nearest:
        return f"did you mean '{nearest[0]}'?"
    return "known: " + ", ".join(names)
