"""What the prefix cache saves, and what a long prompt does to those that are being answered.

    python benchmarks/scheduling.py {prefix,long} [--model PATH] [--clock cpu] [--limits 2:4]

The engine by itself on one thread, no HTTP. ``prefix``: prompts of 1,000 common and 50 own tokens, one after
the other, on an engine with the cache and on one without, in turn. ``long``: 8 sequences decode, then one of
4,000 tokens arrives; the gaps between their tokens before and after, until its first token, for several
limits of its share of a step. ``--clock cpu`` counts CPU time, for a machine that has other things to do.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from reference_server.engine.threads import prepare_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reference_server.engine.engine import Engine

    Clock = Callable[[], int]

PREFIX_LEN, TAIL_LEN, NUM_REQUESTS = 1000, 50, 12
LONG_LEN, NUM_STREAMS, NUM_QUIET_STEPS = 4000, 8, 40
LIMITS: tuple[dict[str, Any], ...] = (
    {"enable_chunked_prefill": False},
    {},
    *({"long_prefill_token_threshold": limit} for limit in (256, 128, 64, 32)),
)
CLOCKS = {"wall": time.monotonic_ns, "cpu": time.thread_time_ns}
_ids = itertools.count()


def load(model: str, settings: dict[str, Any]) -> Engine:
    """An engine as the server would load it."""
    from reference_server.engine.config import EngineConfig
    from reference_server.engine.engine import load_engine

    return load_engine(EngineConfig(model=model, device="cpu", cpu_threads=1, **settings))


def add(engine: Engine, prompt: list[int], max_tokens: int) -> str:
    """Queue a greedy request; its id."""
    from reference_server.engine.request import EngineRequest, SamplingParams

    name = str(next(_ids))
    sampling = SamplingParams(max_tokens=max_tokens, seed=0, temperature=0.0, ignore_eos=True)
    engine.add(EngineRequest(request_id=name, prompt_token_ids=prompt, sampling=sampling))
    return name


def text(engine: Engine, length: int, rng: random.Random) -> list[int]:
    """Random tokens."""
    return [rng.randrange(100, engine.info.vocab_size) for _ in range(length)]


def measure_prefix(model: str, clock: Clock) -> None:
    """Medians over the requests after the first."""
    rng = random.Random(0)
    engines = {caching: load(model, {"enable_prefix_caching": caching}) for caching in (False, True)}
    prefix = text(engines[True], PREFIX_LEN, rng)
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(NUM_REQUESTS + 1):
        prompt = prefix + text(engines[True], TAIL_LEN, rng)
        for caching, engine in engines.items():
            add(engine, prompt, 1)
            begin_ns = clock()
            while engine.has_work:
                engine.step()
            times[caching].append((clock() - begin_ns) / 1e6)
    cold, warm = (statistics.median(times[caching][1:]) for caching in (False, True))
    print(
        f"prefix {PREFIX_LEN}, tail {TAIL_LEN}: TTFT p50 {cold:.1f} ms without the cache, {warm:.1f} ms with"
    )
    print(f"ratio {warm / cold:.3f}")


def measure_long(model: str, limits: Iterable[dict[str, Any]], clock: Clock) -> None:
    """One row for each limit."""
    heads = ("limit", "quiet p50", "p99", "loaded p50", "p99", "ratio of p99", "TTFT s")
    print(("{:<36}" + "{:>13}" * 6).format(*heads))
    for settings in limits:
        quiet, loaded = gaps_ms(load(model, settings), clock)
        found = [float(np.percentile(gaps, p)) for gaps in (quiet, loaded) for p in (50, 99)]
        found += [found[3] / found[1], sum(loaded) / 1e3]
        name = ", ".join(f"{key}={value}" for key, value in settings.items()) or "chunks of the whole budget"
        print(f"{name:<36}" + "".join(f"{value:>13.2f}" for value in found), flush=True)


def gaps_ms(engine: Engine, clock: Clock) -> tuple[list[float], list[float]]:
    """Gaps of running sequences before a long prompt arrives, and from then to its first token."""
    rng = random.Random(0)
    for _ in range(NUM_STREAMS):
        add(engine, text(engine, 128, rng), 4000)
    while engine.stats.step_tokens != NUM_STREAMS:
        engine.step()
    quiet = [step_ms(engine, clock)[0] for _ in range(NUM_QUIET_STEPS)]
    name = add(engine, text(engine, LONG_LEN, rng), 1)
    loaded, answered = [], set[str]()
    while name not in answered:
        duration, answered = step_ms(engine, clock)
        loaded.append(duration)
    return quiet, loaded


def step_ms(engine: Engine, clock: Clock) -> tuple[float, set[str]]:
    """Duration of a step, which is a gap of all that decode; and who got a token."""
    begin_ns = clock()
    outputs = engine.step()
    return (clock() - begin_ns) / 1e6, {output.request_id for output in outputs}


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["prefix", "long"])
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--limits", default=":", help="which rows of long, such as 2:4")
    args = parser.parse_args()
    prepare_threads()
    from reference_server.model_store import resolve

    model, clock = str(resolve(args.model)), CLOCKS[args.clock]
    if args.what == "prefix":
        measure_prefix(model, clock)
    else:
        rows = slice(*(int(end) if end else None for end in args.limits.split(":")))
        measure_long(model, LIMITS[rows], clock)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
