"""What is measured: a cell is one load, given to every client in turn, and what log and claims say of it."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.peers import Claims, Load, Peer
from benchmarks.process_tree import Usage, run
from benchmarks.timetable import MODEL, Truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.peers import Quantiles
    from benchmarks.timetable import TimetableServer

PACED = ("--ttft", "50ms", "--gap", "10ms")
BULK = ("--ttft", "0", "--gap", "0")
MEMORY_REQUESTS = (3_000, 12_000)

Figures = dict[str, float]


class Cell(NamedTuple):
    """One load.

    Attributes:
        kind: ``accuracy``, ``ceiling``, ``memory`` or ``open``; the table it stands in.
        server: Options of the timetable server.
        num_requests: In all.
        tokens: Of each answer.
        streams: In flight, in a closed loop.
        rate: Poisson arrivals per second, in an open one.
        timeout_s: Then the client is given up.
    """

    kind: str
    server: tuple[str, ...]
    num_requests: int
    tokens: int = 128
    streams: int | None = None
    rate: float | None = None
    timeout_s: float = 300.0

    @property
    def name(self) -> str:
        """As it is printed."""
        load = f"{self.streams} streams" if self.streams else f"{self.rate:g} requests/s"
        return f"{self.kind}, {load}, {self.num_requests} requests of {self.tokens} tokens"


def accuracy(streams: int) -> Cell:
    """50 ms to the first token, 10 ms from one to the next."""
    return Cell("accuracy", PACED, max(8, 3 * streams), streams=streams)


def ceiling(streams: int, num_requests: int = 2000) -> Cell:
    """No delay at all: how much a client digests."""
    return Cell("ceiling", BULK, max(num_requests, 3 * streams), streams=streams)


def memory(num_requests: int) -> Cell:
    """The same, with more and more tokens."""
    return Cell("memory", BULK, num_requests, streams=64)


def open_loop(seconds: float = 30.0) -> Cell:
    """200 Poisson arrivals a second."""
    return Cell("open", PACED, round(200 * seconds), tokens=32, rate=200.0)


class FailedError(Exception):
    """A client did not do its work. The message says what became of it."""


def measure(
    cell: Cell, peer: Peer, python: Path, server: TimetableServer, core: int | None, tokenizer: Path | None
) -> Figures:
    """One client, one time.

    Raises:
        FailedError: It ended in an error, took too long, or wrote no result.
    """
    server.reset()
    with tempfile.TemporaryDirectory(prefix="clients-") as folder:
        rate = cell.rate
        load = Load(
            server.url, MODEL, cell.num_requests, cell.tokens, Path(folder), tokenizer, cell.streams, rate
        )
        output = load.folder / "output.txt"
        usage = run(peer.command(python, load), dict(peer.environment), core, output, cell.timeout_s)
        if usage.exit_code != 0:
            said = output.read_text(errors="replace").strip().splitlines()[-1:] or ["nothing"]
            what = "took too long" if usage.exit_code is None else f"ended with {usage.exit_code}"
            raise FailedError(f"{what}; it said: {said[0][:200]}")
        try:
            claims = peer.claims(load)
        except (OSError, LookupError, ValueError, TypeError) as error:
            raise FailedError(f"its result can't be read: {error!r}") from error
    return figures(cell, claims, server.truth(), usage)


def figures(cell: Cell, claims: Claims, truth: Truth, usage: Usage) -> Figures:
    """All that can be said of one run; times in ms."""
    begin_ns, end_ns = truth.window_ns
    in_load_s = usage.cpu_between(begin_ns, end_ns)
    found: Figures = {
        "requests ok": claims.num_ok,
        "requests served": len(truth.lines),
        "chunks": truth.num_chunks,
        "chunks/s": _digested(cell, truth),
        "streams seen": truth.concurrency,
        "cpu us/chunk": in_load_s / truth.num_chunks * 1e6,
        "cpu s before and after": usage.cpu_s - in_load_s,
        "cpu s": usage.cpu_s,
        "peak MB": usage.peak_mb,
        "wall s": usage.wall_s,
        "server late max": truth.max_late_ms,
    }
    found |= _against("ttft", claims.ttft, truth.ttft_ns) | _against("gap", claims.gap, truth.gaps_ns)
    if claims.requests is not None:
        found |= _request_by_request(claims, truth)
    if cell.rate is not None:
        found |= _arrivals(truth, cell.rate) | _plan(claims, truth, cell.rate)
    if claims.schedule_lag_p99_ms is not None:
        found["schedule lag p99"] = claims.schedule_lag_p99_ms
    return found


def _digested(cell: Cell, truth: Truth) -> float:
    """Chunks a second that went through the client, not only to it.

    In a closed loop a client sends its next request when it has digested an answer. So by the last arrival
    it has digested as many answers as there were arrivals beyond the first of each stream; what still lies in
    the buffers of its sockets does not count.
    """
    begin_ns, end_ns = truth.window_ns
    num_through = len(truth.lines) - (cell.streams or 0)
    if cell.streams is None or num_through < cell.streams:
        return truth.num_chunks / (end_ns - begin_ns) * 1e9
    return num_through * cell.tokens / float(truth.arrivals_ns[-1] - begin_ns) * 1e9


def _against(name: str, claimed: Quantiles | None, true_ns: NDArray[np.int64]) -> Figures:
    """Claim minus truth of p50 and p99."""
    if claimed is None:
        return {}
    true = np.percentile(true_ns, [50, 99], method="inverted_cdf") / 1e6
    return {
        f"{name} p{p} error": float(said - is_) for p, said, is_ in zip((50, 99), claimed, true, strict=True)
    }


def _request_by_request(claims: Claims, truth: Truth) -> Figures:

    lines, ttft, gaps = truth.by_index(), [], []
    for request in claims.requests or ():
        line = lines[request.request_id.rpartition("-")[2]]
        stamps = line["token_ns"]
        ttft.append(request.ttft_ns - (stamps[0] - line["arrival_ns"]))
        if len(request.gaps_ns) == len(stamps) - 1:
            gaps.append(np.abs(np.array(request.gaps_ns) - np.diff(stamps)))
    p50, p99 = np.percentile(ttft, [50, 99], method="inverted_cdf") / 1e6
    worst = np.percentile(np.concatenate(gaps), 99, method="inverted_cdf") / 1e6
    return {"each ttft p50": float(p50), "each ttft p99": float(p99), "each |gap| p99": float(worst)}


def _arrivals(truth: Truth, rate: float) -> Figures:
    """Kolmogorov and Smirnov: times uniform over the run, gaps exponential with the rate asked for?

    The gaps are the harder test. A process sends no two requests within some 0.15 ms, and at 200 a second 3 %
    of the gaps are to be shorter: with 6,000 of them that alone fails it. So does a delay of a millisecond.
    """
    times_p, gaps_p = _fits_poisson(truth.arrivals_ns, rate)
    seconds = float(truth.arrivals_ns[-1] - truth.arrivals_ns[0]) / 1e9
    return {
        "arrival times p": times_p,
        "arrival gaps p": gaps_p,
        "arrivals/s": (len(truth.arrivals_ns) - 1) / seconds,
    }


def _plan(claims: Claims, truth: Truth, rate: float) -> Figures:
    """The same of what the client wanted to send, and how far the arrivals were from it; ms.

    Of clients that write down when each request was due, by the clock of the log.
    """
    due_ns = {each.request_id.rpartition("-")[2]: each.due_ns for each in claims.requests or ()}
    planned = {index: due for index, due in due_ns.items() if due is not None}
    if not planned:
        return {}
    lines = truth.by_index()
    off_ms = np.abs([lines[index]["arrival_ns"] - due for index, due in planned.items()]) / 1e6
    times_p, gaps_p = _fits_poisson(np.sort(list(planned.values())), rate)
    return {
        "plan times p": times_p,
        "plan gaps p": gaps_p,
        "off plan p99": float(np.percentile(off_ms, 99, method="inverted_cdf")),
        "off plan max": float(off_ms.max()),
    }


def _fits_poisson(sorted_ns: NDArray[np.int64], rate: float) -> tuple[float, float]:
    """p of the times against a uniform distribution, and of the gaps against an exponential one."""
    times_s = (sorted_ns - sorted_ns[0]) / 1e9
    times = stats.kstest(times_s[1:-1], stats.uniform(scale=times_s[-1]).cdf)
    gaps = stats.kstest(np.diff(times_s), stats.expon(scale=1 / rate).cdf)
    return float(times.pvalue), float(gaps.pvalue)


def growth(small: Figures, large: Figures) -> Figures:
    """What each further chunk costs from the start to the end of the process.

    Start and end drop out, and work that a client puts off until the load is over does not.
    """
    num_chunks = large["chunks"] - small["chunks"]
    return {
        "further chunks/s": num_chunks / (large["wall s"] - small["wall s"]),
        "cpu us/further chunk": (large["cpu s"] - small["cpu s"]) / num_chunks * 1e6,
        "MB/million chunks": (large["peak MB"] - small["peak MB"]) / num_chunks * 1e6,
    }


def medians(runs: list[Figures]) -> Figures:
    """Figure by figure."""
    return {key: statistics.median(run[key] for run in runs if key in run) for key in runs[0]}
