"""What a step of the engine costs beside the model: scheduling, blocks, batch layout, sampling, output.

    python benchmarks/step_overhead.py [--sequences 32] [--steps 400] [--profile]

A runner that computes nothing stands in for the model, so all the CPU time that remains is the engine's own.
Decoding is all greedy; the vocabulary is small, as an argmax over logits is the model's affair. CPU time of
the thread, best of five runs.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from typing import TYPE_CHECKING

import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine
from reference_server.engine.loading import LoadedModel
from reference_server.engine.request import EngineInfo, EngineRequest, SamplingParams

if TYPE_CHECKING:
    from reference_server.engine.batch import Batch

VOCAB_SIZE = 512
BLOCK_SIZE = 32
PROMPT_LEN = 500
RUNS = 5
LIMIT_MS = 1.5


class NoModel:
    """The same logits for every row."""

    def __init__(self) -> None:
        self._logits = torch.zeros(4096, VOCAB_SIZE)

    def run(self, batch: Batch) -> torch.Tensor:
        """As ``ModelRunner.run``."""
        return self._logits[: len(batch.sampling_rows)]


def make_engine(num_sequences: int) -> Engine:
    """An engine with room for all, all of them past their prefill."""
    info = EngineInfo(
        max_model_len=8192,
        vocab_size=VOCAB_SIZE,
        eos_token_ids=(1,),
        num_blocks=num_sequences * 8192 // BLOCK_SIZE,
        block_size=BLOCK_SIZE,
        dtype="float32",
        device="cpu",
    )
    config = EngineConfig(model="none", max_num_seqs=num_sequences, max_num_batched_tokens=2048)
    engine = Engine(config, LoadedModel(runner=NoModel(), info=info))
    sampling = SamplingParams(max_tokens=7000, seed=0, temperature=0.0, ignore_eos=True)
    for number in range(num_sequences):
        prompt = [2 + (number * 7 + place) % 500 for place in range(PROMPT_LEN)]
        engine.add(EngineRequest(request_id=str(number), prompt_token_ids=prompt, sampling=sampling))
    for _ in range(50):
        engine.step()
    return engine


def cpu_ms_per_step(engine: Engine, num_steps: int) -> float:
    """Mean CPU time of a step of this thread."""
    begin_ns = time.thread_time_ns()
    for _ in range(num_steps):
        assert engine.step()
        assert engine.stats.num_running
    return (time.thread_time_ns() - begin_ns) / num_steps / 1e6


def main() -> int:
    """Print the figure; 1 if it is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sequences", type=int, default=32)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    args = parser.parse_args()
    torch.set_num_threads(1)
    engine = make_engine(args.sequences)
    if args.profile:
        with cProfile.Profile() as profile:
            cpu_ms_per_step(engine, args.steps)
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return 0
    runs = sorted(cpu_ms_per_step(engine, args.steps) for _ in range(RUNS))
    print(f"{args.sequences} sequences: {runs[0]:.3f} ms of CPU per step (median {runs[len(runs) // 2]:.3f})")
    return int(runs[0] > LIMIT_MS)


if __name__ == "__main__":
    raise SystemExit(main())
