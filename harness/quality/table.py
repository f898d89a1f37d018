"""The figures of quality for people, as ``tokenpace quality`` prints them in process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.quality.figures import Quality


def table(found: Quality) -> str:
    """A line for each figure."""
    return "\n".join(f"{name:<30}{value}" for name, value in _lines(found))


def _lines(found: Quality) -> Iterator[tuple[str, str]]:
    least = "at least " if found.num_unlisted else ""
    yield "predicted tokens", f"{found.num_tokens:,}"
    if found.num_unlisted:
        yield "of them not listed", f"{found.num_unlisted:,}"
    if found.reference_perplexity is None:
        yield "perplexity", f"{least}{found.perplexity:.4f}"
        return
    yield "perplexity of the reference", f"{least}{found.reference_perplexity:.4f}"
    yield "perplexity of the candidate", f"{least}{found.perplexity:.4f}{_change(found)}"
    mass = f"at least; {found.kl_mass:.2%} of the mass is listed"
    yield "KL mean", f"{found.kl_mean:.3g} nats ({mass})"
    yield "KL p99", f"{found.kl_p99:.3g} nats (at least)"
    yield "same likeliest token", f"{found.top1_agreement:.2%}"
    if found.num_greedy:
        yield f"greedy, {found.num_greedy} tokens", _parting(found.first_divergences)


def _change(found: Quality) -> str:
    if found.perplexity_ratio is None:
        return ""
    error = "" if found.ratio_error is None else f", standard error {found.ratio_error:.3%}"
    return f" ({found.perplexity_ratio - 1:+.3%}{error})"


def _parting(places: list[int | None]) -> str:
    parted = [place for place in places if place is not None]
    whole = f"{len(places) - len(parted)} of {len(places)} texts the same"
    return f"{whole}; the first to differ after {min(parted)} tokens" if parted else whole
