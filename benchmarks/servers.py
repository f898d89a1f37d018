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
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.serving import Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROMPT_LEN = OUTPUT_LEN = 128
MODEL = "smollm2"
NUM_SLOTS = 32
OURS = "tokenpace"
ROUNDS = 3
_OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
_TIMEOUT_S = 600.0
_seeds = itertools.count(1)

Cell = dict[str, float]
Found = dict[int, dict[str, Cell]]


class Contender(NamedTuple):
    """A server and how it is started; without a command it runs already."""

    name: str
    command: list[str] | None
    variables: Mapping[str, str] = MappingProxyType({})
    url: str = ""
    model: str = MODEL
    exact: bool = True


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


def ours(files: Mapping[str, Path]) -> Iterator[Contender]:
    """Dense in bfloat16, and on the blocks of each file that is quantized."""
    for name, file in files.items():
        dense = name == "bf16" or ("bf16" not in files and file == next(iter(files.values())))
        settings = (
            "--dtype",
            "bfloat16",
            "--cpu-threads",
            str(os.cpu_count()),
            "--max-num-seqs",
            str(NUM_SLOTS),
        )
        command = [sys.executable, "-m", "reference_server", "serve", str(file), "--port", "{port}"]
        command += ["--served-model-name", MODEL, *settings]
        if dense:
            yield Contender(f"{OURS} bf16", [*command, "--quantization", "none"])
        if name != "bf16":
            yield Contender(f"{OURS} {name}", command)


def theirs(options: argparse.Namespace, files: Mapping[str, Path]) -> Iterator[Contender]:
    """Those whose programs were named, bound to all cores, kept from the network."""
    common = ("--host", "127.0.0.1", "--port", "{port}")
    if options.vllm:
        command = [str(options.vllm), "serve", str(options.hf_model), "--served-model-name", MODEL, *common]
        cores = f"0-{(os.cpu_count() or 1) - 1}"
        yield Contender(
            "vllm bf16",
            [*command, "--max-model-len", "2048"],
            {"VLLM_CPU_KVCACHE_SPACE": "2", "VLLM_CPU_OMP_THREADS_BIND": cores, **_OFFLINE},
        )
    if options.llama_server:
        for name, file in files.items():
            command = [str(options.llama_server), "-m", str(file), "--alias", MODEL, *common]
            room = (
                "--parallel",
                str(NUM_SLOTS),
                "-c",
                str(NUM_SLOTS * 512),
                "--threads",
                str(os.cpu_count()),
            )
            yield Contender(f"llama.cpp {name}", [*command, *room])
    if options.transformers:
        command = [str(options.transformers), "serve", str(options.hf_model), *common]
        settings = ("--continuous-batching", "--device", "cpu", "--dtype", "bfloat16")
        bounds = ("--cb-block-size", "32", "--cb-num-blocks", "512", "--cb-max-batch-tokens", "512")
        yield Contender(  # it knows no ignore_eos
            "transformers bf16",
            [*command, *settings, *bounds],
            _OFFLINE,
            model=str(options.hf_model),
            exact=False,
        )
    for name, place in options.running:
        url, _, model = place.partition(",")
        yield Contender(name, None, url=url, model=model or MODEL)


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
