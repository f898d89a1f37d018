"""A FastHttpUser that reads a stream event by event: ``iter_lines`` would wait for 1,024 bytes at a time.

locust -f locustfile.py --requests N --tokens N --served MODEL --times FILE
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import gevent
from locust import FastHttpUser, constant, events, task
from locust.exception import StopUser

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser
    from locust.env import Environment

_HEADERS = {"Accept": "text/event-stream"}
_MESSAGE = {"role": "user", "content": "one two three four five six seven eight"}
_taken = itertools.count()
_times: list[tuple[str, int, list[int]]] = []


@events.init_command_line_parser.add_listener
def add_arguments(parser: LocustArgumentParser) -> None:
    """What a plain locust does not know of."""
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--served", required=True)
    parser.add_argument("--times", type=Path, required=True)


@events.quitting.add_listener
def write_times(environment: Environment, **_: object) -> None:
    """When everything is over."""
    environment.parsed_options.times.write_text(json.dumps(_times))


class StreamUser(FastHttpUser):
    """One request after another."""

    wait_time = constant(0)
    network_timeout = connection_timeout = 600.0

    @task
    def chat(self) -> None:
        """One answer."""
        options: Any = self.environment.parsed_options
        index = next(_taken)
        if index >= options.requests:
            raise StopUser
        body = {"model": options.served, "messages": [_MESSAGE], "max_tokens": options.tokens, "stream": True}
        request_id, sent_ns = f"locust-{index}", monotonic_ns()
        headers = {**_HEADERS, "X-Request-Id": request_id}
        with self.client.post("/v1/chat/completions", json=body, headers=headers, stream=True) as response:
            _times.append((request_id, sent_ns, read_stream(response)))
        if len(_times) == options.requests:
            gevent.spawn(self.environment.runner.quit)  # which ends this very user


def read_stream(response: Any) -> list[int]:  # noqa: ANN401  # locust gives its response no public type
    """When each chunk that bears a token came."""
    times = []
    while event := response._response.readline(b"\n\n"):  # noqa: SLF001  # the only way to the stream's bytes
        now_ns = monotonic_ns()
        if event.startswith(b"data: {"):
            choices = json.loads(event[6:])["choices"]
            if choices and choices[0]["delta"].get("content"):
                times.append(now_ns)
    return times
