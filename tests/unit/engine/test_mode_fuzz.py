"""Random traffic in every way of working: no block is lost, every sequence ends."""

from __future__ import annotations

import itertools

import pytest
from support.scheduler_fuzz import Fuzz

from reference_server.engine.scheduler import Scheduler

MODES = [
    {"batching": batching, "kv_allocation": allocation, "kv_cache": cache}
    for batching, allocation, cache in itertools.product(
        ("continuous", "static"), ("paged", "contiguous"), ("on", "off")
    )
]
UNUSUAL = [mode for mode in MODES if mode != MODES[0]]


@pytest.mark.parametrize("modes", UNUSUAL, ids=lambda modes: "-".join(modes.values()))
def test_S4_no_block_is_lost_and_every_sequence_ends(modes: dict[str, str]) -> None:
    """With drafts wherever there are keys and values to verify them on."""
    max_draft, num_seeds, num_steps = (3, 5, 100) if modes["kv_cache"] == "on" else (0, 4, 40)
    runs = [Fuzz(seed, max_draft, **modes).run(num_steps) for seed in range(num_seeds)]

    assert sum(run.num_finished for run in runs) > 30
    num_preemptions = sum(run.scheduler.num_preemptions for run in runs)
    reserves = modes["batching"] == "static" or modes["kv_allocation"] == "contiguous"
    assert (num_preemptions == 0) == reserves
    assert (sum(run.num_padding_tokens for run in runs) > 0) == (modes["batching"] == "static")


def test_S4_the_fuzz_notices_an_ended_sequence_that_gives_up_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A released sequence that the batch still counts, planted."""
    monkeypatch.setattr(Scheduler, "_release_held", lambda _: None)
    with pytest.raises(AssertionError):
        Fuzz(1, batching="static").run(100)
