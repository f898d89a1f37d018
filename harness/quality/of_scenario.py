"""The quality that a scenario asks for, measured before its load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.quality.figures import Quality, quality_beside, quality_of
from harness.quality.scores import read_scores
from harness.quality.scoring import Shown, score
from harness.quality.text import read_text

if TYPE_CHECKING:
    from harness.target import Target
    from scenarios.quality_text import QualityText


async def measured(asked: QualityText | None, target: Target, model: str) -> Quality | None:
    """Of the server under test, idle still; None where the scenario asks for none.

    Raises:
        QualityError: It can't be measured.
        PreflightError: The server doesn't answer.
    """
    if asked is None:
        return None
    reference = None if asked.reference is None else read_scores(asked.reference)
    shown = Shown(read_text(asked.text), asked.window, asked.top, num_greedy=0)
    scores = await score(target, model, shown)
    return quality_of(scores) if reference is None else quality_beside(reference, scores)


def note(found: Quality) -> str:
    """One sentence for the result."""
    parts = [f"perplexity {found.perplexity:.4f}"]
    if found.reference_perplexity is not None:
        parts.append(f"of the reference {found.reference_perplexity:.4f}")
        parts.append(f"KL at least {found.kl_mean:.3g} nats (p99 {found.kl_p99:.3g})")
        parts.append(f"the same likeliest token in {found.top1_agreement:.2%}")
    return f"quality before the load, on {found.num_tokens:,} tokens: {'; '.join(parts)}"
