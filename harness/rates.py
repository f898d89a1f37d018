"""The names of rates and shares, and their units: what is counted over a window and not per request."""

from __future__ import annotations

from typing import Final

from harness.record import Outcome

REQUESTS_PER_SECOND: Final = "requests/s"
TOKENS_PER_SECOND: Final = "tokens/s"
SHARE: Final = "share"

ERROR_RATE: Final = "error_rate"
ATTAINMENT: Final = "attainment"
ERROR_CLASSES: Final = tuple(outcome.value for outcome in Outcome if outcome.failed)
"""What can become of a request that fails."""
CLASS_OF: Final = {f"{ERROR_RATE}_{each}": each for each in ERROR_CLASSES}
"""The class of errors that a share counts, by the share's name: ``error_rate_timeout``."""

UNITS: Final = {
    "request_rate": REQUESTS_PER_SECOND,
    "output_token_rate": TOKENS_PER_SECOND,
    "input_token_rate": TOKENS_PER_SECOND,
    "goodput": REQUESTS_PER_SECOND,
    ERROR_RATE: SHARE,
    ATTAINMENT: SHARE,
    **dict.fromkeys(CLASS_OF, SHARE),
}
OF_OUTPUT_TOKENS: Final = ("output_token_rate",)
"""Those that count the tokens of answers."""
OF_OBJECTIVES: Final = ("goodput", ATTAINMENT)
"""Those that say how many requests met the other objectives."""
