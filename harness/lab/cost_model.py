"""How long the bundled server should take for a workload, in the time of a row of its model.

A step computes rows, and takes as long as they do, or as reading the weights does, whichever is longer. Left
out are attention, HTTP and preemption, so it tells what an idea changes and no absolute times.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_MAX_NUM_SEQS: Final = 64
MAX_STEPS: Final = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """A request.

    Attributes:
        num_prompt_tokens: At least 1.
        num_output_tokens: At least 1.
    """

    num_prompt_tokens: int
    num_output_tokens: int

    @property
    def num_tokens(self) -> int:
        """Prompt and output."""
        return self.num_prompt_tokens + self.num_output_tokens


@dataclasses.dataclass(frozen=True, kw_only=True)
class Expected:
    """What a workload comes to; times in the time of a row.

    Attributes:
        duration: Until the last request has ended.
        mean_e2e: From sending to the last token.
    """

    duration: float
    mean_e2e: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """What of the settings the costs depend on."""

    is_static: bool
    keeps_cache: bool
    reserved_tokens: int | None
    pool_tokens: int | None
    num_places: int
    free_rows: float


def machine(settings: dict[str, Any], free_rows: float) -> Machine:
    """Of the settings of a server. YAML reads a bare ``off`` as false."""
    num_blocks, block_size = settings.get("num_gpu_blocks_override"), settings.get("block_size")
    is_contiguous = settings.get("kv_allocation") == "contiguous"
    return Machine(
        is_static=settings.get("batching") == "static",
        keeps_cache=settings.get("kv_cache", "on") not in ("off", False),
        reserved_tokens=settings.get("max_model_len") if is_contiguous else None,
        pool_tokens=num_blocks * block_size if num_blocks and block_size else None,
        num_places=settings.get("max_num_seqs", DEFAULT_MAX_NUM_SEQS),
        free_rows=free_rows,
    )


class _Running:
    """A request on the machine; ``num_done`` tokens of output."""

    def __init__(self, work: Work, sent: float) -> None:
        self.work, self.sent, self.num_done = work, sent, 0

    def num_rows(self, *, keeps_cache: bool) -> int:
        """Of its next token."""
        if self.num_done and keeps_cache:
            return 1
        return self.work.num_prompt_tokens + self.num_done

    @property
    def is_over(self) -> bool:
        return self.num_done == self.work.num_output_tokens


def expect(works: Iterable[Work], concurrency: int, on: Machine) -> Expected:
    """Send a workload with so many requests in flight at most."""
    to_send, waiting = deque(works), deque[_Running]()
    running: list[_Running] = []
    now, times = 0.0, list[float]()
    while len(waiting) < concurrency and to_send:
        waiting.append(_Running(to_send.popleft(), now))
    num_places = 0
    for _ in range(MAX_STEPS):
        if not (running or waiting):
            break
        if not (on.is_static and running):
            _let_in(waiting, running, on)
            num_places = len(running)
        rows = [each.num_rows(keeps_cache=on.keeps_cache) for each in running]
        now += max(on.free_rows, num_places * max(rows) if on.is_static else sum(rows))
        for each in running:
            each.num_done += 1
        ended = [each for each in running if each.is_over]
        running = [each for each in running if not each.is_over]
        times += [now - each.sent for each in ended]
        for _ in ended[: len(to_send)]:
            waiting.append(_Running(to_send.popleft(), now))
    return Expected(duration=now, mean_e2e=sum(times) / len(times))


def _let_in(waiting: deque[_Running], running: list[_Running], on: Machine) -> None:
    while waiting and len(running) < on.num_places:
        held = sum(on.reserved_tokens or each.work.num_tokens for each in running)
        needed = on.reserved_tokens or waiting[0].work.num_tokens
        if running and on.pool_tokens is not None and held + needed > on.pool_tokens:
            return
        running.append(waiting.popleft())
