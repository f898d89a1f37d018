"""What ways of holding the weights gain in speed and memory, and what they cost in quality.

    python benchmarks/quality.py [--model PATH] [--context 128] [--quick] [--json FILE]

Each beside dense float32 on one thread, no HTTP: median time of a decoding step of one sequence, bytes of
weights, and the figures of `tokenpace quality` on the text that ships. The steps take turns with those of
the reference, best of the rounds. ``gguf`` needs a file of GGUF; its reference is that file dequantized.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_server.engine.threads import prepare_threads

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig

REFERENCE = ("none", "float32")
CANDIDATES = (("none", "bfloat16"), ("int8", "bfloat16"), ("gguf", "bfloat16"))
MAX_LOSS = {"int8": 0.005, "gguf": 0.001}
"""By how much of the reference's perplexity a candidate's may be off on this text, its error aside."""

Row = dict[str, Any]


def config(model: str, form: tuple[str, str]) -> EngineConfig:
    """Settings of a form: quantization and dtype."""
    from reference_server.engine.config import EngineConfig
    from reference_server.roofline.measurement import STEP_TOKENS

    quantization, dtype = form
    return EngineConfig(
        model=model,
        quantization=quantization,
        dtype=dtype,
        device="cpu",
        cpu_threads=1,
        max_model_len=1024,
        max_num_seqs=1,
        max_num_batched_tokens=STEP_TOKENS,
        long_prefill_token_threshold=0,
        enable_prefix_caching=False,
    )


def speeds(model: str, form: tuple[str, str], context: int, num_rounds: int) -> Row:
    """Step times of a form and of the reference in turn, and bytes of weights."""
    from reference_server.engine.engine import load_engine
    from reference_server.roofline.measurement import median_step_s

    reference, candidate = load_engine(config(model, REFERENCE)), load_engine(config(model, form))
    rounds = [
        (median_step_s(reference, 1, context), median_step_s(candidate, 1, context))
        for _ in range(num_rounds)
    ]
    reference_s, candidate_s = (min(times) for times in zip(*rounds, strict=True))
    return {
        "step_ms": candidate_s * 1e3,
        "speedup": reference_s / candidate_s,
        "weight_mb": candidate.info.weight_bytes / 1e6,
        "reference_weight_mb": reference.info.weight_bytes / 1e6,
    }


def qualities(model: str, form: tuple[str, str], num_windows: int | None) -> Row:
    """The figures of quality of a form."""
    from reference_server.quality.forced_model import ForcedModel
    from reference_server.quality.measurement import measure
    from reference_server.quality.text import sample_text, windows
    from reference_server.text.load import load_tokenizer

    texts = windows(load_tokenizer(model).encode(sample_text()), 512)[:num_windows]
    found = measure(ForcedModel(config(model, REFERENCE)), ForcedModel(config(model, form)), texts)
    return dataclasses.asdict(found) | {"perplexity_ratio": found.perplexity_ratio}


def verdict(form: tuple[str, str], row: Row) -> str:
    """Whether a form keeps to what it may lose."""
    limit = MAX_LOSS.get(form[0])
    if limit is None:
        return "-"
    kept = abs(row["perplexity_ratio"] - 1) <= limit
    return f"{'within' if kept else 'BEYOND'} {limit:.1%}"


def line(form: tuple[str, str], row: Row) -> str:
    """A row of the table."""
    cells = (
        " ".join(form),
        f"{row['step_ms']:.2f}",
        f"{row['speedup']:.2f}",
        f"{row['weight_mb']:.0f}",
        f"{row['perplexity']:.4f}",
        f"{row['perplexity_ratio'] - 1:+.3%}",
        f"{row['ratio_error']:.3%}",
        f"{row['kl_mean']:.2g}",
        f"{row['kl_p99']:.2g}",
        f"{row['top1_agreement']:.2%}",
        verdict(form, row),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--quick", action="store_true", help="one window of the text, one round of steps")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    prepare_threads()
    from reference_server.model_store.lookup import resolve

    model = str(resolve(options.model))
    print(
        "| form | step ms | x float32 | weights MB | perplexity | change | its error "
        "| KL mean | KL p99 | top-1 | bar |"
    )
    print("|" + " --- |" * 11)
    rows = {}
    for form in CANDIDATES:
        speed = speeds(model, form, options.context, 1 if options.quick else 5)
        row = speed | qualities(model, form, 1 if options.quick else None)
        rows[" ".join(form)] = row
        print(line(form, row), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
