"""The names of rates and shares, and their units: what is counted over a window and not per request."""

from __future__ import annotations

from typing import Final

REQUESTS_PER_SECOND: Final = "requests/s"
TOKENS_PER_SECOND: Final = "tokens/s"
SHARE: Final = "share"

UNITS: Final = {
    "request_rate": REQUESTS_PER_SECOND,
    "output_token_rate": TOKENS_PER_SECOND,
    "input_token_rate": TOKENS_PER_SECOND,
    "goodput": REQUESTS_PER_SECOND,
    "error_rate": SHARE,
    "attainment": SHARE,
}
OF_OUTPUT_TOKENS: Final = ("output_token_rate",)
"""Those that count the tokens of answers."""
OF_OBJECTIVES: Final = ("goodput", "attainment")
"""Those that say how many requests met the other objectives."""
