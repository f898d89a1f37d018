"""A draft model made of a model's own layers."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.models.loaders import tiny_random

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.engine import Engine

TOOL = Path(__file__).parents[3] / "tools" / "take_layers.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("take_layers", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("layers", "is_right"), [([0, 1, 2, 3], True), ([0, 3], False)], ids=str)
def test_all_layers_are_the_model_and_some_are_not(
    tool: Any, make_engine: Callable[..., Engine], make_request: Callable[..., Any],
    run: Callable[..., Any], tmp_path: Path, layers: list[int], is_right: bool,
) -> None:  # fmt: skip
    tool.take_layers(tiny_random.load("tiny-random", 0), layers, tmp_path / "draft")
    engine = make_engine(4, "draft_model", {"model": str(tmp_path / "draft")})
    run(engine, make_request(max_tokens=25))
    rate = sum(engine.stats.num_accepted_per_pos) / engine.stats.num_draft_tokens
    assert (rate > 0.6) == is_right, "bfloat16 moves near ties"


@pytest.mark.parametrize("layers", [[], [4], [-1, 0]], ids=str)
def test_layers_that_are_not_there(tool: Any, tmp_path: Path, layers: list[int]) -> None:
    with pytest.raises(ValueError, match=r"the model has 0 to 3"):
        tool.take_layers(tiny_random.load("tiny-random", 0), layers, tmp_path)
