"""``evalscope perf``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.peers import Claims, Install, Load, Peer, Quantiles, program

if TYPE_CHECKING:
    from pathlib import Path


class EvalScope(Peer):
    """``evalscope perf``."""

    package = "evalscope"
    installs = (Install(("torch==2.13.0",), pip=True), Install(("evalscope[perf]==1.14.1", "torch==2.13.0")))

    def is_installed(self, python: Path) -> bool:
        """By its program."""
        return program(python, "evalscope").is_file()

    def command(self, python: Path, load: Load) -> list[str]:
        """Prompts from a file: with random ones it has to find lengths that its own check accepts."""
        prompts = load.folder / "prompts.txt"
        prompts.write_text("one two three four five six seven eight\n" * load.num_requests)
        pace = ("--parallel", load.streams) if load.streams else ("--open-loop", "--rate", load.rate)
        arguments = (
            *("--model", load.model, "--url", f"{load.url}/v1/chat/completions", "--api", "openai"),
            *("--dataset", "line_by_line", "--dataset-path", prompts, "--tokenizer-path", load.tokenizer),
            *("--max-tokens", load.tokens, "--number", load.num_requests, *pace, "--stream"),
            *("--outputs-dir", load.folder / "out", "--no-timestamp", "--sleep-interval", 0),
            "--no-test-connection",
        )
        return [str(program(python, "evalscope")), "perf", *map(str, arguments)]

    def claims(self, load: Load) -> Claims:
        """``benchmark_percentile.json`` and ``benchmark_summary.json``."""
        (percentiles,) = (load.folder / "out").rglob("benchmark_percentile.json")
        (summary,) = (load.folder / "out").rglob("benchmark_summary.json")
        rows = {str(row["Percentiles"]): row for row in json.loads(percentiles.read_bytes())}
        return Claims(
            int(json.loads(summary.read_bytes())["Success Requests"]),
            Quantiles(rows["50%"]["TTFT (ms)"], rows["99%"]["TTFT (ms)"]),
            Quantiles(rows["50%"]["ITL (ms)"], rows["99%"]["ITL (ms)"]),
        )


PEER = EvalScope()
