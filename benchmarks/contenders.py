"""The servers that are held against each other, and how each is started with all cores."""

from __future__ import annotations

import os
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MODEL = "smollm2"
NUM_SLOTS = 32
OURS = "tokenpace"
_OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


class Contender(NamedTuple):
    """A server and how it is started; without a command it runs already."""

    name: str
    command: list[str] | None
    variables: Mapping[str, str] = MappingProxyType({})
    url: str = ""
    model: str = MODEL
    exact: bool = True


def ours(files: Mapping[str, Path]) -> Iterator[Contender]:
    """Dense in bfloat16, in 8 bits, and on the blocks of each file that is quantized."""
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
            yield Contender(f"{OURS} int8", [*command, "--quantization", "int8"])
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
