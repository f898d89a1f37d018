"""Quality over HTTP of the bundled server is what it is in process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.quality.figures import quality_beside
from harness.quality.scores import write_scores
from harness.quality.scoring import Shown, score
from harness.run import report, run
from harness.target import Target
from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine
from reference_server.quality.forced_model import ForcedModel
from reference_server.quality.measurement import measure
from reference_server.quality.text import windows
from reference_server.text.load import load_tokenizer
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIG = EngineConfig(
    model="tiny-random", dtype="float32", device="cpu", cpu_threads=1, max_num_batched_tokens=64
)
TEXT = "Quality stands beside speed, so that faster never hides worse. " * 2


@pytest.fixture(scope="module")
def echo() -> SimpleNamespace:
    """In place of the echo engine: a model."""
    return SimpleNamespace(EchoEngine=lambda **given: load_engine(msgspec.structs.replace(CONFIG, **given)))


async def test_perplexity_is_the_same_and_divergence_at_most(start_api: Any) -> None:
    texts = windows(load_tokenizer("tiny-random").encode(TEXT), 70)
    int8 = msgspec.structs.replace(CONFIG, quantization="int8")
    true = measure(ForcedModel(CONFIG), ForcedModel(int8), texts)
    shown = Shown(TEXT, window=70, num_top=20, num_greedy=4)
    scores = []
    for given in ({}, {"quantization": "int8"}):
        api = await start_api(engine=given)
        scores.append(await score(Target.parse(api.base_url), "echo", shown))
    found = quality_beside(*scores)
    assert found.num_tokens == true.num_tokens
    assert found.perplexity == pytest.approx(true.perplexity, rel=1e-5)
    assert found.reference_perplexity == pytest.approx(true.reference_perplexity, rel=1e-5)
    assert found.ratio_error == pytest.approx(true.ratio_error, rel=1e-2)
    assert found.top1_agreement == pytest.approx(true.top1_agreement)
    assert found.kl_mean is not None
    assert 0 <= found.kl_mean <= true.kl_mean + 1e-6
    assert (scores[0].way, scores[0].by_id) == ("echo", True)
    assert [len(text) for text in scores[0].greedy] == [4] * len(texts)


async def test_a_scenario_s_quality_is_judged_beside_its_latency(start_api: Any, tmp_path: Path) -> None:
    """What was recorded of the float32 server: itself holds, int8 is found to be worse. Reports agree."""
    reference, text = tmp_path / "float32.json", tmp_path / "text.txt"
    text.write_text(TEXT)
    reference.write_text("not yet")
    scenario = scenario_from(
        {
            "schema": 1,
            "name": "quality",
            "endpoint": "completions",
            "load": {"arrivals": "closed", "concurrency": 1, "requests": 5},
            "prompts": {"source": "text", "text": "x"},
            "sampling": {"max_tokens": 4},
            "quality": {"text": str(text), "reference": str(reference), "window": 70},
            "thresholds": {
                "e2e": ["max < 60s"],
                "kl_top_mean": ["< 0.0000001 nats"],
                "perplexity": ["< 1000"],
                "perplexity_ratio": ["< 2"],
            },
        }
    )
    verdicts = {}
    for name, given in {"float32": {}, "int8": {"quantization": "int8"}}.items():
        api = await start_api(engine=given)
        if name == "float32":
            shown = Shown(TEXT, window=70, num_greedy=0)
            write_scores(await score(Target.parse(api.base_url), "echo", shown), reference)
        done = await run(
            scenario,
            base_url=api.base_url,
            model="echo",
            result_dir=tmp_path / name,
            reports=(),
            telemetry=False,
        )
        verdicts[name] = {rule.metric: rule.verdict for rule in done.result.rules}
        assert any(note.startswith("quality before the load, on ") for note in done.result.notes)
        again = report(done.folder, reports=()).result
        assert (again.rules, again.verdict) == (done.result.rules, done.result.verdict)
        assert done.result.verdict is (Verdict.PASS if name == "float32" else Verdict.FAIL)
    assert set(verdicts["float32"].values()) == {Verdict.PASS}
    assert verdicts["int8"] == verdicts["float32"] | {"kl_top_mean": Verdict.FAIL}
