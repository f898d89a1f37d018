"""A look at the server before any load is sent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from harness import transport
from harness.errors import PreflightError
from harness.model_list import PATH, ModelList
from harness.timeline import End, EnoughError, Timeline
from harness.transport import HttpRequest
from harness.wire.error_text import one_line

if TYPE_CHECKING:
    from harness.target import Target
    from scenarios.timeouts import Timeouts

_LEAST_PATIENCE_NS: Final = 1_000_000_000
_PATIENCE_NS: Final = 10_000_000_000
_MAX_REPLY_BYTES: Final = 8 * 1024 * 1024


class _ShortReply(Timeline):
    """One that ends where a list of models can't be that long."""

    def on_slice(self) -> None:
        """See ``Timeline``. Nobody takes the reads meanwhile."""
        if sum(map(len, self.reads)) > _MAX_REPLY_BYTES:
            message = f"a reply of more than {_MAX_REPLY_BYTES:,} bytes to a question for its models"
            raise EnoughError(End.NOT_HTTP, "too_long", message)


async def find_model(target: Target, timeouts: Timeouts, wanted: str | None) -> str:
    """The model to ask for: ``wanted`` if the server lists it or keeps no list, else the only one there is.

    Raises:
        PreflightError: The server can't be reached, its certificate isn't trusted, it isn't HTTP, it is to be
            asked elsewhere, wants another key, or isn't ready; or the model isn't served; or none was named
            and there isn't exactly one.
    """
    reply = await _get(target, timeouts, PATH)
    if reply.end is not End.COMPLETE or reply.status is None:
        raise _unreachable(target, reply)
    models = ModelList.of(target, reply)
    models.demand_usable()
    if wanted is None:
        return models.model()
    models.demand(wanted)
    return wanted


async def _get(target: Target, timeouts: Timeouts, path: str) -> Timeline:
    carrier = transport.choose(target, _patience(timeouts))
    timeline = _ShortReply(time.monotonic_ns())
    try:
        request = HttpRequest("GET", target.path_beside(path), accept="application/json")
        await carrier.exchange(request, timeline)
    finally:
        await carrier.close()
    return timeline


def _patience(timeouts: Timeouts) -> Timeouts:
    """Those of the requests, but neither so short that a server that answers seems gone nor long."""
    ns = {name: getattr(timeouts, name) for name in type(timeouts).model_fields}
    return timeouts.model_copy(
        update={name: min(max(_LEAST_PATIENCE_NS, limit), _PATIENCE_NS) for name, limit in ns.items()}
    )


def _unreachable(target: Target, timeline: Timeline) -> PreflightError:
    end = timeline.end or End.CLIENT_ERROR
    outcome = "bad_response" if end is End.NOT_HTTP else end.value
    message = one_line(target.mask(timeline.message)) or end.value
    who = f"{target.url} can't be used"
    if target.proxy is not None and end is End.CONNECT_ERROR:
        who = f"{target.url} can't be reached through the proxy"
    has_remedy = end in (End.TLS_ERROR, End.CLIENT_ERROR) or timeline.detail == "proxy"
    remedy = "" if has_remedy else "; is the server running there?"
    return PreflightError(f"{who}: {message}{remedy}", outcome)
