"""What a long prompt does to those that are being answered.

    python benchmarks/long_prompt.py [--quick] [--json FILE] [--model MODEL] [--threads N] [--prompt 4000]

Eight streams of one server each get a token a step; after a quiet time a prompt of 4,000 tokens arrives. The
gaps between tokens before that, and from then until its first token, as the clients saw them: with chunks as
the server cuts them by default, with chunks of the whole budget, and without chunks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import numpy as np

from benchmarks.serving import Served

if TYPE_CHECKING:
    from collections.abc import Iterable

NUM_STREAMS, PROMPT_LEN = 8, 128
QUIET_S = 10.0
SETTINGS = {
    "chunks as by default": (),
    "chunks of the budget": ("--long-prefill-token-threshold", "0"),
    "no chunks": ("--no-enable-chunked-prefill",),
}
MODEL = "model"
_VOCABULARY = range(1000, 40000)


class Gaps(NamedTuple):
    """In seconds, and how long the prompt took to its first token."""

    quiet: list[float]
    loaded: list[float]
    ttft_s: float


class Stream:
    """One answer that is being read; when each of its tokens came."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.decodes = asyncio.Event()

    async def read(
        self, session: aiohttp.ClientSession, url: str, prompt: list[int], max_tokens: int
    ) -> None:
        """Until its end, or until cancelled."""
        body = {"model": MODEL, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
        body |= {"stream": True, "ignore_eos": True}
        async with session.post(f"{url}/v1/completions", json=body) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                if line.startswith(b"data: {"):
                    self.times.append(time.monotonic())
                    if len(self.times) > 1:
                        self.decodes.set()

    def gaps(self, begin: float, end: float) -> Iterable[float]:
        """Between tokens, of which the later came within a time."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return [later - sooner for sooner, later in pairs if begin < later <= end]


async def measure(url: str, prompt_len: int, quiet_s: float) -> Gaps:
    """Load the server, wait, send the prompt, and wait for its first token."""
    rng = random.Random(0)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as session:
        streams = [Stream() for _ in range(NUM_STREAMS)]
        tasks = [
            asyncio.create_task(each.read(session, url, rng.choices(_VOCABULARY, k=PROMPT_LEN), 3500))
            for each in streams
        ]
        await asyncio.gather(*(each.decodes.wait() for each in streams))
        quiet_begin = time.monotonic()
        await asyncio.sleep(quiet_s)
        begin, long = time.monotonic(), Stream()
        await long.read(session, url, rng.choices(_VOCABULARY, k=prompt_len), 1)
        end = long.times[0]
        await asyncio.sleep(0.5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    quiet = [gap for each in streams for gap in each.gaps(quiet_begin, begin)]
    return Gaps(quiet, [gap for each in streams for gap in each.gaps(begin, end + 0.5)], end - begin)


def figures(gaps: Gaps) -> dict[str, float]:
    """What is printed, times in ms."""
    found = {
        f"{name} p{p}": float(np.percentile(values, p)) * 1e3
        for name, values in (("quiet", gaps.quiet), ("loaded", gaps.loaded))
        for p in (50, 99)
    }
    return {**found, "ratio of p99": found["loaded p99"] / found["quiet p99"], "TTFT s": gaps.ttft_s}


def command(model: str, threads: int | None, settings: tuple[str, ...]) -> list[str]:
    """How the server is started."""
    own = [] if threads is None else ["--cpu-threads", str(threads)]
    start = [sys.executable, "-m", "reference_server", "serve", model, "--port", "{port}"]
    return [*start, "--served-model-name", MODEL, "--no-enable-prefix-caching", *own, *settings]


def main() -> int:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a short quiet time, and no run without chunks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--threads", type=int, help="that compute; by default one core stays free")
    parser.add_argument("--prompt", type=int, default=4000, metavar="TOKENS")
    options = parser.parse_args()
    chosen = list(SETTINGS.items())[: 1 if options.quick else None]
    found: dict[str, dict[str, float]] = {}
    for name, settings in chosen:
        found[name] = run(options, settings)
        if len(found) == 1:
            print(f"{'ms':<24}" + "".join(f"{head:>14}" for head in found[name]))
        print(f"{name:<24}" + "".join(f"{value:>14.2f}" for value in found[name].values()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def run(options: Any, settings: tuple[str, ...]) -> dict[str, float]:  # noqa: ANN401  # parsed arguments
    """One server with these settings."""
    with tempfile.TemporaryDirectory() as folder:
        start = command(options.model, options.threads, settings)
        with Served("the server", MODEL, start, Path(folder, "log")) as server:
            quiet_s = QUIET_S / 4 if options.quick else QUIET_S
            return figures(asyncio.run(measure(server.url, options.prompt, quiet_s)))


if __name__ == "__main__":
    raise SystemExit(main())
