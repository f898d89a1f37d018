"""The runner of a CUDA device, on a CPU: kernels interpreted, graphs replaced by running their step again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.triton_interpreter import skip_unless_interpreted

pytest.importorskip("triton", reason="Triton is not installed: its kernels can't be interpreted")

from reference_server.engine import make_runner
from reference_server.engine.batch import Batch
from reference_server.engine.engine import Engine
from reference_server.engine.graph_runner import DecodeInputs, GraphRunner, graph_sizes
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.kernels import gpu_kernels

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]
Run = Callable[..., dict[str, list[EngineOutput]]]


class Replayed:
    """Stands for a CUDA graph: a step that can be run again."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.step, self.num_replays = step, 0

    def replay(self) -> None:
        """Run it."""
        self.num_replays += 1
        self.step()

    def pool(self) -> None:
        """No memory of its own."""


class ReplayingRunner(GraphRunner):
    """A runner whose graphs are steps."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **(kwargs | {"enforce_eager": False}))

    def _record(self, size: int, pool: Any) -> Any:
        del pool
        return Replayed(self._decode_step(size))

    @property
    def replays(self) -> dict[int, int]:
        """How often each graph ran."""
        return {size: graph.num_replays for size, graph in self._graphs.items()}  # type: ignore[attr-defined]


@pytest.fixture
def make_gpu_engine(make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> MakeEngine:
    """An engine as on a CUDA device."""
    skip_unless_interpreted()
    monkeypatch.setattr(gpu_kernels, "serves", lambda _: True)
    monkeypatch.setattr(make_runner, "GraphRunner", ReplayingRunner)

    def make(**settings: Any) -> Engine:
        small = {"attention_backend": "triton", "block_size": 8, "num_gpu_blocks_override": 12}
        return make_engine(**(small | settings))

    return make


def tokens(outputs: dict[str, list[EngineOutput]]) -> dict[str, list[int]]:
    return {name: [t for part in parts for t in part.token_ids] for name, parts in outputs.items()}


def test_the_whole_path_gives_the_same_tokens(
    make_gpu_engine: MakeEngine, make_engine: MakeEngine, make_request: MakeRequest, run: Run
) -> None:
    """Chunks, one prompt scored, beside decodes, graphs with rows left over, preemption, greedy, seeded."""
    requests = [
        make_request("a", [2 + i for i in range(17)], max_tokens=4, prompt_logprobs=1),
        make_request("b", [9], max_tokens=5, temperature=0.9, seed=3, top_p=0.9),
        make_request("c", [40, 41, 42], max_tokens=3, logprobs=2),
    ]
    engine = make_gpu_engine(max_num_seqs=5, max_num_batched_tokens=9, num_gpu_blocks_override=4)
    found, expected = run(engine, *requests), run(make_engine(), *requests)
    assert tokens(found) == tokens(expected)
    scores = [
        [each.logprob for each in outputs["a"][0].prompt_logprobs or ()] for outputs in (found, expected)
    ]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)
    assert len(scores[0]) == 16
    replays = engine._computing._runner.replays  # type: ignore[attr-defined]
    assert sum(replays.values()) > 0
    assert engine.stats.num_free_blocks == engine.stats.num_blocks


def test_padding_of_a_static_batch_is_rows_of_a_graph(
    make_gpu_engine: MakeEngine, make_engine: MakeEngine, make_request: MakeRequest, run: Run
) -> None:
    requests = [make_request(name, [5, 6], max_tokens=count) for name, count in (("a", 1), ("b", 3))]
    engine = make_gpu_engine(max_num_seqs=2, batching="static")
    assert tokens(run(engine, *requests)) == tokens(run(make_engine(), *requests))
    assert engine.stats.padding_tokens == 2
    replays = engine._computing._runner.replays  # type: ignore[attr-defined]
    assert replays[2] == 2


def test_an_abort_frees_and_leaves_the_rest_untouched(
    make_gpu_engine: MakeEngine, make_engine: MakeEngine, make_request: MakeRequest, run: Run
) -> None:
    engine, kept = make_gpu_engine(max_num_seqs=2), make_request("kept", [5, 6], max_tokens=3)
    engine.add(make_request("gone", [7, 8], max_tokens=30))
    engine.add(kept)
    engine.step()
    assert engine.abort("gone") is not None
    rest = [token for _ in range(2) for output in engine.step() for token in output.token_ids]
    assert rest == tokens(run(make_engine(), kept))["kept"][1:]
    assert engine.stats.num_free_blocks == engine.stats.num_blocks


@pytest.mark.parametrize(
    ("max_num_seqs", "expected"),
    [
        (1, [1]),
        (3, [1, 2, 3]),
        (4, [1, 2, 4]),
        (5, [1, 2, 4, 8]),
        (20, [1, 2, 4, 8, 16, 24]),
        (1000, [1, 2, 4, *range(8, 257, 8)]),
    ],
)
def test_graphs_for_every_batch_size_up_to_a_limit(max_num_seqs: int, expected: list[int]) -> None:
    assert graph_sizes(max_num_seqs) == expected


def decoding(num_rows: int, width: int) -> Batch:
    rows = np.arange(num_rows)
    return Batch(
        token_ids=rows + 100,
        positions=rows + 200,
        slot_mapping=rows + 300,
        query_starts=np.arange(num_rows + 1),
        context_lens=rows + 201,
        block_tables=np.arange(num_rows * width).reshape(num_rows, width) + 1,
        num_decodes=num_rows,
        sampling_rows=rows,
        sampling_sequences=[],
    )


@pytest.mark.parametrize(("num_rows", "size", "width"), [(3, 8, 2), (8, 8, 5), (1, 1, 1), (1, 2, 5)])
def test_a_graph_reads_the_batch_and_harmless_rows_after_it(num_rows: int, size: int, width: int) -> None:
    inputs = DecodeInputs(8, 5, torch.device("cpu"))
    views = inputs.views(size)
    batch = decoding(num_rows, width)
    inputs.fill(decoding(size, 5), size)
    inputs.fill(batch, size)
    token_ids, positions, slots, contexts, table_width, tables = (view.tolist() for view in views)
    left_over = size - num_rows
    assert token_ids == [*batch.token_ids, *[0] * left_over]
    assert positions == [*batch.positions, *[0] * left_over]
    assert slots == [*batch.slot_mapping, *[0] * left_over]
    assert contexts == [*batch.context_lens, *[1] * left_over]
    assert table_width == [width]
    assert tables[: size * width] == [*batch.block_tables.ravel(), *[0] * (left_over * width)]


def test_views_are_aligned_and_apart() -> None:
    inputs = DecodeInputs(7, 3, torch.device("cpu"))
    for size in (1, 2, 7):
        views = inputs.views(size)
        assert {view.storage_offset() % 4 for view in views} == {0}
        assert [len(view) for view in views] == [size, size, size, size, 1, size * 3]


def test_a_triton_backend_without_a_device_is_refused(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    import triton

    from reference_server.attention import UnsupportedBackendError

    monkeypatch.setattr(triton.knobs.runtime, "interpret", False)
    with pytest.raises(UnsupportedBackendError, match="needs a CUDA device; say paged"):
        make_engine(attention_backend="triton")
