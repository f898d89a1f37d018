"""What guessed tokens gain, and what they cost where they are wrong.

    python benchmarks/speculation.py [--method suffix [--cached-requests N]]
        [--method draft_model --draft-model PATH] [--model PATH] [--quantization none] [--clock cpu]
        [--batch 1 8] [--quick] [--json FILE]

The engine by itself on one thread, no HTTP, greedy: one that decodes token by token, one that verifies drafts
wherever there are any, and one that verifies as much as pays, in turn. Every round asks the same: with
``--cached-requests`` above 0 ``suffix`` knows the answers of the rounds before.

What SmolLM2-135M makes of the prompts: it rewrites the text, answers the question, counts where it should
repeat a list (two tokens that repeat, and never what followed), and falls into a loop after random tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_server.engine.threads import prepare_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.engine import Engine

    Clock = Callable[[], int]
    Cell = dict[str, dict[str, float]]

NUM_TOKENS = 72
CLOCKS = {"wall": time.monotonic_ns, "cpu": time.thread_time_ns}
CONFIGS: dict[str, dict[str, Any]] = {
    "ngram": {"num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2},
    "suffix": {"num_speculative_tokens": 8},
    "draft_model": {"num_speculative_tokens": 4},
}
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
TEXT = (
    "The harbour of Dunmore lies on the north shore of the bay. In winter the ferries stop before dark, and "
    "the harbour master lights the two lamps on the pier. Fishermen mend their nets in the long shed behind "
    "the customs house, while their children carry coal from the barges. In spring the first trains bring "
    "visitors, who walk along the sea wall and look at the boats."
)
TABLE = "\n".join(
    f"{n}. station {n * 17 % 91}, platform {n % 4}, departs at {n % 24}:30" for n in range(1, 16)
)
TEXTS = {
    "rewrite": CHAT.format(f"Repeat the following text word for word.\n\n{TEXT}"),
    "chat": CHAT.format("Why is the sky blue in the day and red in the evening? Explain it to a child."),
    "count": CHAT.format(f"Repeat this list word for word:\n{TABLE}"),
}


def configs(method: str, num_cached: int, draft_model: str) -> dict[str, dict[str, Any] | None]:
    """``speculative_config`` of each engine."""
    config = {"method": method, **CONFIGS[method]}
    if method == "suffix":
        config["suffix_decoding_max_cached_requests"] = num_cached
    if method == "draft_model":
        config["model"] = draft_model
    return {"plain": None, "always": config | {"adaptive": False}, "adaptive": config}


def load(model: str, quantization: str | None, speculative_config: dict[str, Any] | None) -> Engine:
    """An engine as the server would load it."""
    from reference_server.engine.config import EngineConfig
    from reference_server.engine.engine import load_engine

    config = EngineConfig(
        model=model,
        quantization=quantization,
        device="cpu",
        cpu_threads=1,
        speculative_config=speculative_config,
    )
    return load_engine(config)


def prompts(model: str, vocab_size: int) -> dict[str, list[int]]:
    """Token ids by name."""
    from reference_server.text.load import load_text

    tokenizer, _ = load_text(model)
    rng = random.Random(0)
    found = {name: tokenizer.encode(text) for name, text in TEXTS.items()}
    return found | {"loop": [rng.randrange(100, vocab_size) for _ in range(200)]}


def generate(engine: Engine, prompt: list[int], batch: int, clock: Clock) -> float:
    """Tokens per second of decoding, from the first tokens on."""
    from reference_server.engine.request import EngineRequest, SamplingParams

    sampling = SamplingParams(max_tokens=NUM_TOKENS, seed=0, temperature=0.0, ignore_eos=True)
    for number in range(batch):
        engine.add(EngineRequest(request_id=str(number), prompt_token_ids=prompt, sampling=sampling))
    while engine.stats.num_waiting or not engine.stats.num_running:
        engine.step()
    engine.step()
    before, begin_ns = engine.stats.generation_tokens, clock()
    while engine.has_work:
        engine.step()
    return (engine.stats.generation_tokens - before) * 1e9 / (clock() - begin_ns)


def compared(engines: dict[str, Engine], prompt: list[int], batch: int, clock: Clock, rounds: int) -> Cell:
    """Medians of tokens per second, and what became of the drafts."""
    before = {name: engine.stats for name, engine in engines.items()}
    speeds: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, engine in engines.items():
            speeds[name].append(generate(engine, prompt, batch, clock))
    medians = {name: statistics.median(each) for name, each in speeds.items()}
    cell: Cell = {}
    for name, engine in engines.items():
        drafted = engine.stats.num_draft_tokens - before[name].num_draft_tokens
        accepted = sum(engine.stats.num_accepted_per_pos) - sum(before[name].num_accepted_per_pos)
        cell[name] = {
            "tokens_per_s": medians[name],
            "ratio": statistics.median(a / b for a, b in zip(speeds[name], speeds["plain"], strict=True)),
            "draft_tokens": drafted,
            "acceptance_rate": accepted / drafted if drafted else 0.0,
        }
    return cell


def measure(
    engines: dict[str, Engine], model: str, clock: Clock, batches: list[int], rounds: int
) -> list[dict[str, Any]]:
    """Print a line for each text and number of sequences; the figures."""
    texts = prompts(model, engines["plain"].info.vocab_size)
    for engine in engines.values():
        generate(engine, texts["chat"], 1, clock)
    cells = []
    for batch in batches:
        for text, prompt in texts.items():
            cell = compared(engines, prompt, batch, clock, rounds)
            cells.append({"text": text, "batch": batch, **cell})
            print(f"{text:<8} x {batch}: {', '.join(map(_words, cell, cell.values()))}", flush=True)
    return cells


def _words(name: str, figures: dict[str, float]) -> str:
    speed = f"{name} {figures['tokens_per_s']:.1f} tokens/s"
    if name == "plain":
        return speed
    return (
        f"{speed} (ratio {figures['ratio']:.2f}; {figures['acceptance_rate']:.0%} of "
        f"{figures['draft_tokens']:.0f} drafted accepted)"
    )


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--quantization", help="of MODEL; left out, its file decides")
    parser.add_argument("--method", choices=CONFIGS, default="ngram")
    parser.add_argument("--cached-requests", type=int, default=0, help="past answers that suffix knows")
    parser.add_argument("--draft-model", help="who guesses, for draft_model; left out, MODEL itself")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8], help="sequences at once")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--json", type=Path, help="write the figures there")
    args = parser.parse_args()
    prepare_threads()
    from reference_server.model_store import resolve

    print(f"load average {os.getloadavg()[0]:.2f}")
    rounds = 1 if args.quick else args.rounds
    settings = configs(args.method, args.cached_requests, str(resolve(args.draft_model or args.model)))
    model = str(resolve(args.model))
    engines = {name: load(model, args.quantization, config) for name, config in settings.items()}
    cells = measure(engines, model, CLOCKS[args.clock], args.batch, rounds)
    if args.json:
        args.json.write_text(json.dumps(cells, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
