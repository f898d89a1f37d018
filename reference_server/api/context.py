"""What the endpoints share: made once at start-up, found at ``request.app.state.context``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import time
from typing import TYPE_CHECKING, TypeVar, cast

from reference_server.api.errors import ApiError, bad_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from reference_server.api.admission import Admission
    from reference_server.api.server_metrics import ServerMetrics
    from reference_server.engine.client import EngineClient
    from reference_server.engine.request import EngineInfo
    from reference_server.text.chat_template import ChatTemplate
    from reference_server.text.tokenizer import Tokenizer

T = TypeVar("T")

TEXT_THREADS = 2


@dataclasses.dataclass(slots=True, kw_only=True)
class Context:
    """The server behind the endpoints.

    Attributes:
        model_names: By which the model may be asked for; the first is the one told.
        model_path: Where it comes from.
        client: The engine.
        info: Of the engine.
        tokenizer: The model's.
        chat_template: The model's; None if it has none.
        admission: Who may come in.
        metrics: The server's numbers.
        version: Of the server.
        created: Start of the server, in seconds since the epoch.
        text_pool: Threads for long texts, so that the event loop is never held up.
    """

    model_names: tuple[str, ...]
    model_path: str
    client: EngineClient
    info: EngineInfo
    tokenizer: Tokenizer
    chat_template: ChatTemplate | None
    admission: Admission
    metrics: ServerMetrics
    version: str
    created: int = dataclasses.field(default_factory=lambda: int(time.time()))
    text_pool: concurrent.futures.Executor = dataclasses.field(
        default_factory=lambda: concurrent.futures.ThreadPoolExecutor(TEXT_THREADS, "text")
    )

    @property
    def fingerprint(self) -> str:
        """Changes when answers may."""
        return f"tokenpace-{self.version}-{self.info.dtype}-{self.info.device}"

    def require_model(self, name: str | None) -> str:
        """The name under which to answer.

        Raises:
            ApiError: 404, there is no such model here.
        """
        if name is None or name in self.model_names:
            return name or self.model_names[0]
        known = ", ".join(self.model_names)
        raise ApiError(
            404, f"The model {name[:200]!r} does not exist here; there is: {known}.", param="model"
        )

    def check_priority(self, priority: int) -> None:
        """Refuse a priority that would have no effect.

        Raises:
            ApiError: 400, requests are served in the order of arrival.
        """
        if priority and self.info.scheduling_policy != "priority":
            raise bad_request(
                f"priority is {priority}, but this server serves in the order of arrival; leave it out, "
                "or start the server with --scheduling-policy priority.",
                "priority",
            )

    async def in_text_thread(self, work: Callable[[], T]) -> T:
        """Run work on a long text beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self.text_pool, work)


def context_of(request: Request) -> Context:
    """The context of the app that serves ``request``."""
    return cast("Context", request.app.state.context)
