"""What the prefix cache saves.

    python benchmarks/prefix_cache.py [--model PATH] [--clock cpu]

The engine by itself on one thread, no HTTP: prompts of 1,000 common and 50 own tokens, one after the other,
on an engine with the cache and on one without, in turn. ``--clock cpu`` counts CPU time, for a machine that
has other things to do.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from reference_server.engine.threads import prepare_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.engine import Engine

    Clock = Callable[[], int]

PREFIX_LEN, TAIL_LEN, NUM_REQUESTS = 1000, 50, 12
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


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    args = parser.parse_args()
    prepare_threads()
    from reference_server.model_store import resolve

    measure_prefix(str(resolve(args.model)), CLOCKS[args.clock])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
