"""A server under measurement: a process of its own on a free port, or one that runs already."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from urllib.error import URLError
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_READY_S = 600.0
_ANSWER_S = 60.0
_END_S = 30.0
_NUM_LINES = 5
_PORT = "{port}"


class NotReadyError(RuntimeError):
    """A server ended, or never answered. The message ends with what it printed last."""


class Served:
    """A server that answers completions, while it is entered as a context.

    Args:
        name: For messages.
        model: What it calls its model.
        command: How it is started; ``{port}`` stands for its port. None: it runs already, at ``url``.
        log: A file for what it prints.
        variables: Set in its environment.
        exact: Whether its answers are as long as asked for.
        url: Its address.
    """

    def __init__(
        self,
        name: str,
        model: str,
        command: list[str] | None,
        log: Path,
        *,
        variables: Mapping[str, str] | None = None,
        url: str = "",
        exact: bool = True,
    ) -> None:
        self.name, self.model, self.url, self.exact = name, model, url.rstrip("/"), exact
        self._command, self._log = command, log
        self._environment = {**os.environ, **(variables or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if self._command is not None:
            port = _free_port()
            self.url = f"http://127.0.0.1:{port}"
            with self._log.open("wb") as file:
                self._process = subprocess.Popen(
                    [part.replace(_PORT, str(port)) for part in self._command],
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env=self._environment,
                    process_group=0,
                )
        try:
            self._wait_until_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self.signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """To the process and all that it started: ``SIGSTOP`` for as long as another is measured."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def complete(self, prompt: str, **settings: Any) -> dict[str, Any]:  # noqa: ANN401  # fields of the API
        """The answer to a completion that isn't streamed."""
        body = json.dumps({"model": self.model, "prompt": prompt, **settings}).encode()
        request = Request(f"{self.url}/v1/completions", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=_ANSWER_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def _wait_until_ready(self) -> None:
        """Until it answers a completion: some list their model, or even accept, before they can."""
        deadline = time.monotonic() + _READY_S
        while True:
            if self._process is not None and self._process.poll() is not None:
                raise NotReadyError(
                    f"{self.name} ended with {self._process.returncode}: {self._last_words()}"
                )
            try:
                self.complete("Hello", max_tokens=8)
            except (URLError, OSError, ValueError) as error:
                if time.monotonic() > deadline:
                    raise NotReadyError(
                        f"{self.name} does not answer ({error}): {self._last_words()}"
                    ) from error
                time.sleep(0.5)
            else:
                return

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.is_file() else []
        return " / ".join(lines[-_NUM_LINES:])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
