"""This project's client and others side by side, against one server that logs what it really did.

    python benchmarks/clients.py [--quick] [--json FILE] [--peers a,b] [--cells accuracy,ceiling,memory,open]
    python benchmarks/clients.py --install aiperf guidellm ...

The timetable server sends its tokens at scripted times and logs when it handed each to the kernel; server on
one core, client on another. The figures of a client are its own, from its own output; errors are claim minus
log. Medians of five runs. A client that isn't installed is left out, and said so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import cells, environments
from benchmarks.cells import BULK, PACED, Cell, FailedError, measure, medians
from benchmarks.cores import bind, choose_cores
from benchmarks.peers import NotInstalledError, Peer, find, names
from benchmarks.tables import print_table
from benchmarks.timetable import TimetableServer
from benchmarks.tokenizer import tokenizer_folder

if TYPE_CHECKING:
    from benchmarks.cells import Figures


class Contestant(NamedTuple):
    """A client that is installed."""

    name: str
    peer: Peer
    python: Path
    version: str


def main() -> int:
    """Install, or measure and print."""
    options = _parser().parse_args()
    if options.install:
        for name in options.install:
            environments.install(name)
        return 0
    named = dict(_named(text) for text in options.python)
    contestants = _contestants(options.peers.split(","), named)
    chosen = [
        each for each in _cells(quick=options.quick, streams=options.streams) if each.kind in options.cells
    ]
    repeats = options.repeats or (1 if options.quick else 5)
    tokenizer = options.tokenizer
    if tokenizer is None and any(each.peer.tokenizes for each in contestants):
        tokenizer = tokenizer_folder()
    found = _measure_all(contestants, chosen, repeats, tokenizer)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clients.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ["accuracy", "ceiling", "memory", "open"]
    parser.add_argument("--quick", action="store_true", help="small loads, once each: does everything work?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--peers", default=",".join(names()), metavar="A,B", help="by default all of them")
    parser.add_argument("--cells", type=lambda text: text.split(","), default=kinds, metavar="A,B")
    parser.add_argument("--streams", type=_numbers, metavar="N,N", help="instead of 1, 64, 256, 512 and 1000")
    parser.add_argument("--repeats", type=int, metavar="N", help="instead of 5")
    parser.add_argument(
        "--tokenizer", type=Path, metavar="DIR", help="a Hugging Face folder, for those that need one"
    )
    parser.add_argument(
        "--python", action="append", default=[], metavar="NAME=PATH", help="a client's environment"
    )
    parser.add_argument("--install", nargs="+", metavar="NAME", help="make environments, and measure nothing")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def _named(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    return name, Path(path)


def _cells(*, quick: bool, streams: list[int] | None) -> list[Cell]:
    if quick:
        small = streams or [8]
        bulk = [cells.ceiling(each, 300) for each in small]
        many = [cells.memory(each // 10) for each in cells.MEMORY_REQUESTS]
        return [*map(cells.accuracy, small), *bulk, *many, cells.open_loop(3)]
    many = [cells.memory(each) for each in cells.MEMORY_REQUESTS]
    bulk = [cells.ceiling(each) for each in streams or [64, 256, 1000]]
    return [*map(cells.accuracy, streams or [1, 64, 256, 512, 1000]), *bulk, *many, cells.open_loop()]


def _contestants(wanted: list[str], named: dict[str, Path]) -> list[Contestant]:
    found = []
    for name in wanted:
        peer = find(name)
        try:
            python = environments.python_of(name, peer, named)
        except NotInstalledError as error:
            print(f"left out: {error}")
            continue
        found.append(Contestant(name, peer, python, environments.version_of(python, peer.package)))
    return found


def _measure_all(
    contestants: list[Contestant], chosen: list[Cell], repeats: int, tokenizer: Path | None
) -> dict[str, Any]:
    cores = choose_cores()
    bind(0, cores.server)
    about = _about(contestants, repeats)
    results: dict[str, dict[str, Figures]] = {}
    with ExitStack() as stack:
        servers: dict[tuple[str, ...], TimetableServer] = {
            each: stack.enter_context(TimetableServer(cores.server, *each)) for each in (PACED, BULK)
        }
        for cell in chosen:
            rows: dict[str, Figures] = {}
            print(f"\n{cell.name}; load average {os.getloadavg()[0]:.2f}", flush=True)
            for each in contestants:
                figures = _repeat(cell, each, repeats, servers[cell.server], cores.client, tokenizer)
                if figures:
                    rows[each.name] = figures
            print_table(cell.kind, rows)
            results[cell.name] = rows
    results |= _growth(chosen, results)
    return {**about, "cells": results}


def _growth(chosen: list[Cell], results: dict[str, dict[str, Figures]]) -> dict[str, dict[str, Figures]]:
    """From the two cells that differ in the number of requests alone."""
    both = [results[cell.name] for cell in chosen if cell.kind == "memory"]
    if len(both) != len(cells.MEMORY_REQUESTS):
        return {}
    small, large = both
    rows = {name: cells.growth(small[name], large[name]) for name in small if name in large}
    print("\nwhat more chunks cost, all in")
    print_table("growth", rows)
    return {"growth": rows}


def _repeat(
    cell: Cell,
    each: Contestant,
    repeats: int,
    server: TimetableServer,
    core: int | None,
    tokenizer: Path | None,
) -> Figures | None:
    if cell.rate is not None and not each.peer.open_loop:
        return None
    runs: list[Figures] = []
    for _ in range(repeats):
        load_average = os.getloadavg()[0]
        try:
            runs.append(measure(cell, each.peer, each.python, server, core, tokenizer))
        except FailedError as error:
            print(f"  {each.name} {error}", flush=True)
            continue
        runs[-1]["load average"] = load_average
    return medians(runs) if runs else None


def _about(contestants: list[Contestant], repeats: int) -> dict[str, Any]:
    """What the figures hang on, said first."""
    about = {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}",
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
        "repeats": repeats,
        "versions": {each.name: each.version for each in contestants},
    }
    print(f"{about['date']}, {about['machine']}, median of {repeats}")
    print(", ".join(f"{each.name} {each.version}" for each in contestants))
    return about


if __name__ == "__main__":
    sys.exit(main())
