"""What a scenario's ``quality`` measures before the load, that objectives can be about: one number each."""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.rates import SHARE

PLAIN: Final = ""
NATS: Final = "nats"


class QualityFigure(NamedTuple):
    """One number of a measurement.

    Attributes:
        field: Of ``harness.quality.figures.Quality``.
        unit: Of it.
        needs_reference: Whether there is none of a server by itself.
    """

    field: str
    unit: str
    needs_reference: bool = True


QUALITY_FIGURES: Final = {
    "perplexity": QualityFigure("perplexity", PLAIN, needs_reference=False),
    "perplexity_ratio": QualityFigure("perplexity_ratio", PLAIN),
    "kl_top_mean": QualityFigure("kl_mean", NATS),
    "kl_top_p99": QualityFigure("kl_p99", NATS),
    "top1_agreement": QualityFigure("top1_agreement", SHARE),
}
"""By the name that objectives have for it. The divergences are those of the likeliest tokens and of all
others as one: lower bounds of the whole divergence, and so named by what they are."""
