"""The clients that are measured side by side: one file each, found by itself, named as on the command line.

A file holds a class and an instance of it, ``PEER``: how the client is installed, its command line for a
load, and where its own figures are in its output. Nothing here corrects a figure: what a client claims is
what it wrote. An underscore in a file's name is a dash on the command line.
"""

from __future__ import annotations

import abc
import importlib
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Load(NamedTuple):
    """What a client is asked to send.

    Attributes:
        url: Of the server, without a path.
        model: Served there.
        num_requests: In all.
        tokens: Of each answer.
        folder: For its output; empty.
        tokenizer: A folder that transformers can read, None if the client does without.
        streams: Requests in flight; None in an open loop.
        rate: Poisson arrivals per second; None in a closed loop.
    """

    url: str
    model: str
    num_requests: int
    tokens: int
    folder: Path
    tokenizer: Path | None
    streams: int | None = None
    rate: float | None = None


class Quantiles(NamedTuple):
    """Of one quantity, in ms."""

    p50: float
    p99: float


class RequestTimes(NamedTuple):
    """One request, as a client saw it.

    Attributes:
        request_id: As it was sent in ``X-Request-Id``.
        ttft_ns: From sent to the first chunk that bears a token.
        gaps_ns: From one such chunk to the next.
        due_ns: When the client wanted it sent, by the monotonic clock; None if it doesn't say.
    """

    request_id: str
    ttft_ns: int
    gaps_ns: list[int]
    due_ns: int | None = None


class Claims(NamedTuple):
    """What a client says of its run.

    Attributes:
        num_ok: Requests that went well.
        ttft: Time to first token, from when the request was sent.
        gap: From one chunk to the next, as near as the client comes to it; see ``Peer.gap_means``.
        schedule_lag_p99_ms: How late it says it was against its own schedule, if it says so.
        requests: One by one, from clients that send ``X-Request-Id``.
    """

    num_ok: int
    ttft: Quantiles | None
    gap: Quantiles | None
    schedule_lag_p99_ms: float | None = None
    requests: list[RequestTimes] | None = None


def claims_of(times: list[tuple[str, int, list[int]]]) -> Claims:
    """Of a client that wrote down, in ns, a request's id, when it was sent, and when its chunks came."""
    requests = [
        RequestTimes(id_, chunks[0] - sent_ns, np.diff(chunks).tolist())
        for id_, sent_ns, chunks in times
        if chunks
    ]
    ttft = [request.ttft_ns for request in requests]
    gaps = np.concatenate([request.gaps_ns for request in requests])
    return Claims(len(requests), quantiles(ttft), quantiles(gaps), None, requests)


def quantiles(values_ns: ArrayLike) -> Quantiles:
    """Nearest rank."""
    p50, p99 = np.percentile(np.asarray(values_ns, dtype=np.int64), [50, 99], method="inverted_cdf") / 1e6
    return Quantiles(float(p50), float(p99))


class Install(NamedTuple):
    """One step of an installation.

    Attributes:
        requirements: What for.
        options: Before them.
        pip: By pip itself, where uv would not do: it takes builds for a GPU, and lacks some options.
    """

    requirements: tuple[str, ...]
    options: tuple[str, ...] = ()
    pip: bool = False


class NotInstalledError(Exception):
    """The client isn't there. The message says how to get it."""


class Peer(abc.ABC):
    """A client.

    Attributes:
        package: The distribution whose version is told.
        installs: The steps that make its environment; none if it lives in the project's.
        gap_means: What the gaps it reports are.
        open_loop: It can send Poisson arrivals.
        tokenizes: It can't do without a tokenizer.
    """

    package: ClassVar[str]

    installs: ClassVar[tuple[Install, ...]] = ()
    gap_means: ClassVar[str] = "each gap"
    open_loop: ClassVar[bool] = True
    tokenizes: ClassVar[bool] = True

    @property
    def environment(self) -> dict[str, str | None]:
        """Variables that it needs, or, with None, must not have. The hub of models is not asked."""
        return {"HF_HUB_OFFLINE": "1"}

    def finish_install(self, environment: Path) -> None:
        """Do what pip leaves undone in a new environment, most often nothing."""
        del environment

    @abc.abstractmethod
    def command(self, python: Path, load: Load) -> list[str]:
        """The command line; files it needs are written to ``load.folder``."""

    @abc.abstractmethod
    def claims(self, load: Load) -> Claims:
        """What it wrote there, or to ``output.txt``, where its output goes."""

    @abc.abstractmethod
    def is_installed(self, python: Path) -> bool:
        """Whether that environment has it."""


def program(python: Path, name: str) -> Path:
    """A console script of an environment."""
    return python.parent / name


def names() -> list[str]:
    """All clients, as the command line writes them."""
    return [info.name.replace("_", "-") for info in pkgutil.iter_modules([str(Path(__file__).parent)])]


def find(name: str) -> Peer:
    """The client of that name.

    Raises:
        SystemExit: There is none.
    """
    if name not in names():
        sys.exit(f"clients.py: there is no client {name}; there are {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    peer = module.PEER
    assert isinstance(peer, Peer)
    return peer
