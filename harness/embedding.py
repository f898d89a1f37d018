"""How a run goes on inside another tool: what that tool is told, and what it asks for."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.drivers.requested import Requests
    from harness.load_status import LoadStatus
    from harness.record import Record
    from harness.result_folder import Manifest, ResultFolder
    from harness.tally import Tally
    from harness.workers.member import Hire


@dataclasses.dataclass(frozen=True, kw_only=True)
class Underway:
    """A run that goes on. It belongs to the thread of its event loop: whoever looks at it does so there.

    Attributes:
        manifest: What it was asked to do.
        folder: What it leaves.
        tally: The requests that have ended: every histogram, as it stands.
        status: Says how the load stands.
    """

    manifest: Manifest
    folder: ResultFolder
    tally: Tally
    status: Callable[[], LoadStatus]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Embedding:
    """Another tool, and what it wants of the run. Both calls come on the run's event loop and must be short.

    Attributes:
        on_begin: Told of the run just before its first request.
        on_record: Told of each request that has ended.
        notes: What the reader of the report must know of the tool.
        requests: What is sent in place of the scenario's own load; None for that load.
        load: What stands in the manifest then for ``load`` and ``prompts``, by these two keys.
        hire: Finds the run's workers, which are elsewhere; None where they are processes of the run's.
    """

    on_begin: Callable[[Underway], None] = lambda _: None
    on_record: Callable[[Record], None] = lambda _: None
    notes: tuple[str, ...] = ()
    requests: Requests | None = None
    load: dict[str, Any] = dataclasses.field(default_factory=dict)
    hire: Hire | None = None
