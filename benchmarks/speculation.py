"""What guessed tokens gain, and what they cost where they are wrong.

    python benchmarks/speculation.py [--model PATH] [--clock cpu] [--batch 1] [--rounds 3]

The engine by itself on one thread, no HTTP, greedy, with an engine that decodes token by token and one that
looks up n-grams, in turn. What SmolLM2-135M makes of the prompts: it rewrites the text, answers the question,
counts where it should repeat a list (two tokens that repeat, and never what followed), and falls into a loop
after random tokens.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from typing import TYPE_CHECKING

from reference_server.engine.threads import prepare_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.engine import Engine

    Clock = Callable[[], int]

NUM_TOKENS = 72
CLOCKS = {"wall": time.monotonic_ns, "cpu": time.thread_time_ns}
CONFIG = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
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


def load(model: str, *, speculate: bool) -> Engine:
    """An engine as the server would load it."""
    from reference_server.engine.config import EngineConfig
    from reference_server.engine.engine import load_engine

    config = EngineConfig(
        model=model, device="cpu", cpu_threads=1, speculative_config=CONFIG if speculate else None
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


def measure(model: str, clock: Clock, batch: int, num_rounds: int) -> None:
    """Print a line for each text."""
    plain, drafting = load(model, speculate=False), load(model, speculate=True)
    for name, prompt in prompts(model, plain.info.vocab_size).items():
        without, with_drafts = [], []
        before = drafting.stats
        for _ in range(num_rounds):
            without.append(generate(plain, prompt, batch, clock))
            with_drafts.append(generate(drafting, prompt, batch, clock))
        num_drafts = drafting.stats.num_drafts - before.num_drafts
        num_drafted = drafting.stats.num_draft_tokens - before.num_draft_tokens
        accepted = sum(drafting.stats.num_accepted_per_pos) - sum(before.num_accepted_per_pos)
        left, right = statistics.median(without), statistics.median(with_drafts)
        print(
            f"{name:<8} x {batch}: {left:6.1f} tokens/s, {right:6.1f} with drafts, ratio {right / left:.2f}; "
            f"{num_drafts} drafts, {accepted / max(1, num_drafted):.0%} of {num_drafted} tokens accepted"
        )


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    prepare_threads()
    from reference_server.model_store import resolve

    measure(str(resolve(args.model)), CLOCKS[args.clock], args.batch, args.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
