"""This project's server and others side by side, with the same weights, under the same load.

    python benchmarks/servers.py --gguf q4_1=FILE [--gguf bf16=FILE ...] [--llama-server PROGRAM]
        [--vllm PROGRAM] [--transformers PROGRAM] [--hf-model FOLDER]
        [--running NAME=URL,MODEL]
        [--quick] [--json FILE] [--concurrency 1,4,16,32] [--servers a,b]

Prompts of 128 tokens, no two alike, and 128 tokens of each answer, greedy, past the end of a text; so many
requests at once as there are slots, by ``tokenpace run``. All servers are started first, each with all cores;
whoever isn't measured is stopped meanwhile. Three rounds in turn, of which the tables show medians. Ratios
are of output tokens per second. A server whose program isn't named is left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import signal
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contenders import NUM_SLOTS, OURS, ours, theirs
from benchmarks.serving import Served

if TYPE_CHECKING:
    from benchmarks.contenders import Contender

PROMPT_LEN = OUTPUT_LEN = 128
ROUNDS = 3
_TIMEOUT_S = 600.0
_seeds = itertools.count(1)

Cell = dict[str, float]
Found = dict[int, dict[str, Cell]]


def main() -> int:
    """Measure and print."""
    options = _parser().parse_args()
    files = {name: Path(path).resolve() for name, path in options.gguf}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        every = [*ours(files), *theirs(options, files)]
        chosen = [each for each in every if not options.servers or each.name in options.servers]
        servers = [stack.enter_context(_started(each, Path(folder))) for each in chosen]
        found = measure_all(servers, options, tokenizer=next(iter(files.values())))
    print_all(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _started(contender: Contender, folder: Path) -> Served:
    print(f"starting {contender.name}", file=sys.stderr, flush=True)
    log = folder / f"{contender.name}.log"
    return Served(
        contender.name,
        contender.model,
        contender.command,
        log,
        variables=contender.variables,
        url=contender.url,
    )


def measure_all(servers: list[Served], options: argparse.Namespace, *, tokenizer: Path) -> Found:
    """Medians by concurrency and server. One server runs at a time; the others are stopped."""
    found: Found = {}
    for each in servers:
        each.signal(signal.SIGSTOP)
    for slots in options.concurrency:
        rounds: dict[str, list[Cell]] = {each.name: [] for each in servers}
        for _ in range(1 if options.quick else ROUNDS):
            for each in servers:
                each.signal(signal.SIGCONT)
                num_requests = slots if options.quick else max(3, 2 * slots)
                rounds[each.name].append(measure(each, slots, num_requests, tokenizer))
                each.signal(signal.SIGSTOP)
        found[slots] = {name: _medians(cells) for name, cells in rounds.items()}
        print_table(slots, found[slots])
    return found


def measure(server: Served, slots: int, num_requests: int, tokenizer: Path) -> Cell:
    """One run of ``tokenpace run``.

    Raises:
        RuntimeError: A request failed, or an answer had another length.
    """
    with tempfile.TemporaryDirectory() as folder:
        scenario, output = Path(folder, "scenario.yaml"), Path(folder, "result")
        scenario.write_text(json.dumps(_scenario(slots, num_requests, tokenizer)))  # JSON is YAML
        command = [sys.executable, "-m", "harness", "run", str(scenario), "--base-url", server.url]
        command += ["--model", server.model, "--output", str(output), "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
        try:
            result = json.loads((output / "result.json").read_bytes())
        except OSError as error:
            raise RuntimeError(f"{server.name}: {done.stderr.strip()}") from error
    return _cell(server, result, num_requests)


def _scenario(slots: int, num_requests: int, tokenizer: Path) -> dict[str, Any]:
    return {
        "name": "servers",
        "endpoint": "completions",
        "tokenizer": str(tokenizer),
        "load": {"arrivals": "closed", "concurrency": slots, "requests": num_requests},
        "prompts": {"source": "synthetic", "length": PROMPT_LEN},
        "sampling": {"max_tokens": OUTPUT_LEN, "temperature": 0, "ignore_eos": True},
        "seed": next(_seeds),
    }


def _cell(server: Served, result: dict[str, Any], num_requests: int) -> Cell:
    outcomes, rates = result["outcomes"], {rate["name"]: rate for rate in result["rates"]}
    tokens = rates["output_token_rate"]
    complete = not server.exact or tokens["numerator"] == num_requests * OUTPUT_LEN
    if outcomes.get("ok", 0) < num_requests or not complete:
        raise RuntimeError(
            f"{server.name}: {outcomes}, {tokens['numerator']} tokens; expected {num_requests} answers"
        )
    found = {"output tok/s": float(tokens["value"])}
    for metric, p in (("ttft", 50), ("ttft", 99), ("tpot", 50)):
        summary = next(each for each in result["metrics"] if each["name"] == metric)
        value = next(each["value"] for each in summary["percentiles"] if each["p"] == p)
        found[f"{metric.upper()} p{p} ms"] = value / 1e6
    return found


def _medians(cells: list[Cell]) -> Cell:
    return {name: statistics.median(cell[name] for cell in cells) for name in cells[0]}


def print_table(slots: int, cells: dict[str, Cell]) -> None:
    """A line for each server."""
    print(f"\nconcurrency {slots}\n{'':<20}" + "".join(f"{name:>14}" for name in next(iter(cells.values()))))
    for name, cell in cells.items():
        print(f"{name:<20}" + "".join(f"{value:>14.1f}" for value in cell.values()), flush=True)


def print_all(found: Found) -> None:
    """Ratios of output tokens per second: each of ours to each of theirs."""
    names = list(next(iter(found.values())))
    print(f"\nours / theirs, output tok/s\n{'concurrency':<40}" + "".join(f"{slots:>8}" for slots in found))
    for mine, other in itertools.product(names, names):
        if mine.startswith(OURS) and not other.startswith(OURS):
            ratios = [cells[mine]["output tok/s"] / cells[other]["output tok/s"] for cells in found.values()]
            print(f"{mine + ' / ' + other:<40}" + "".join(f"{ratio:>8.2f}" for ratio in ratios))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="servers.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gguf", type=_pair, action="append", required=True, metavar="NAME=FILE")
    parser.add_argument("--llama-server", type=Path, metavar="PROGRAM", help="llama.cpp's server")
    parser.add_argument("--vllm", type=Path, metavar="PROGRAM")
    parser.add_argument("--transformers", type=Path, metavar="PROGRAM")
    parser.add_argument("--hf-model", type=Path, metavar="FOLDER", help="the same weights, for the last two")
    parser.add_argument("--running", type=_pair, action="append", default=[], metavar="NAME=URL,MODEL")
    parser.add_argument("--quick", action="store_true", help="one round of one request per slot")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--concurrency", type=_numbers, default=[1, 4, 16, NUM_SLOTS], metavar="N,N")
    parser.add_argument("--servers", type=lambda text: text.split(","), metavar="A,B", help="only these")
    return parser


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    raise SystemExit(main())
