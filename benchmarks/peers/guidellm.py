"""GuideLLM. Its ``inter_token_latency_ms`` is a mean of each request, weighted by tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.peers import Claims, Install, Load, Peer, Quantiles, program

if TYPE_CHECKING:
    from pathlib import Path


class GuideLLM(Peer):
    """``guidellm run``."""

    package = "guidellm"
    installs = (Install(("torch==2.13.0",), pip=True), Install(("guidellm==0.8.1", "torch==2.13.0")))
    gap_means = "mean of each request"

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "guidellm").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """Concurrent streams, or Poisson arrivals."""
        profile = (
            f"kind=concurrent,streams={load.streams}" if load.streams else f"kind=poisson,rate={load.rate}"
        )
        backend = f"target={load.url},model={load.model},request_format=/v1/chat/completions"
        arguments = (
            *("--backend", f"kind=openai_http,{backend}", "--profile", profile),
            *("--constraint", f"kind=max_requests,count={load.num_requests}"),
            *("--tokenizer", f"kind=huggingface_auto,model={load.tokenizer}"),
            *("--data", f"kind=synthetic_text,prompt_tokens=8,output_tokens={load.tokens}"),
            *("--output", f"kind=json,path={load.folder / 'report.json'}", "--disable-console-interactive"),
        )
        return [str(program(python, "guidellm")), "run", *arguments]

    def claims(self, load: Load) -> Claims:
        """``report.json``, in ms."""
        (benchmark,) = json.loads((load.folder / "report.json").read_bytes())["benchmarks"]
        metrics = benchmark["metrics"]
        ttft = metrics["time_to_first_token_ms"]["successful"]["percentiles"]
        gap = metrics["inter_token_latency_ms"]["successful"]["percentiles"]
        return Claims(
            int(metrics["request_totals"]["successful"]),
            Quantiles(ttft["p50"], ttft["p99"]),
            Quantiles(gap["p50"], gap["p99"]),
        )


PEER = GuideLLM()
