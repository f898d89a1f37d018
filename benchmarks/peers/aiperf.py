"""NVIDIA AIPerf. Its inter-token latency is a mean of each request; its inter-chunk latency is each gap."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.peers import Claims, Install, Load, Peer, Quantiles, program

if TYPE_CHECKING:
    from pathlib import Path


class AIPerf(Peer):
    """``aiperf profile``."""

    package = "aiperf"
    installs = (Install(("aiperf==0.13.0",)),)

    @property
    def environment(self) -> dict[str, str | None]:
        """Offline, whatever the value, it takes the tokenizer's folder for a name on the hub."""
        return {"HF_HUB_OFFLINE": None}

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "aiperf").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """Concurrency, or a rate; arrivals are Poisson by default."""
        pace = ("--concurrency", load.streams) if load.streams else ("--request-rate", load.rate)
        arguments = (
            *("-m", load.model, "--url", load.url, "--endpoint-type", "chat", "--streaming"),
            *("--tokenizer", load.tokenizer, "--isl", 8, "--osl", load.tokens),
            *("--request-count", load.num_requests, *pace),
            *("--output-artifact-dir", load.folder, "--ui", "none"),
        )
        return [str(program(python, "aiperf")), "profile", *map(str, arguments)]

    def claims(self, load: Load) -> Claims:
        """``profile_export_aiperf.json``, in ms."""
        found = json.loads((load.folder / "profile_export_aiperf.json").read_bytes())
        ttft, gap = found["time_to_first_token"], found["inter_chunk_latency"]
        return Claims(
            int(found["request_count"]["avg"]),
            Quantiles(ttft["p50"], ttft["p99"]),
            Quantiles(gap["p50"], gap["p99"]),
        )


PEER = AIPerf()
