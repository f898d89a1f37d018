"""Experiments as files: those that come with the product, and what is wrong with others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.lab.errors import LabError
from harness.lab.experiment import load_experiment
from harness.lab.library import locate, names
from harness.lab.predictions import factor, predicted
from reference_server.config import ServerConfig

TEXT = """
schema: 1
name: small
question: Is it so?
prediction: It is.
variants: {a: {}, b: {max_num_seqs: 1}}
scenario:
  load: {arrivals: closed, concurrency: 2, requests: 4}
  prompts: {source: text, text: [Hello there]}
  sampling: {max_tokens: 4}
over: {sampling.max_tokens: [2, 4]}
figures: [ttft p50, output_token_rate]
claims: [{variant: b, figure: ttft p50, at_least: 1.0}]
costs: {free_rows: 2}
"""


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", names())
def test_each_of_the_library_can_be_run_and_predicts_what_it_claims(name: str, quick: bool) -> None:
    experiment = load_experiment(locate(name), quick=quick)
    for variant in experiment.variants:
        ServerConfig(**experiment.settings(variant))
    found = predicted(experiment)
    assert all(map(bool, found)) == (experiment.costs is not None)
    for point, expected in ((p, e) for p, e in zip(experiment.points, found, strict=True) if e):
        for claim in (each for each in experiment.claims if each.is_about(point)):
            against = found[0][claim.variant] if claim.growth else expected[experiment.baseline]
            change = factor(claim.figure, expected[claim.variant], against)
            if change is not None:
                assert change >= (claim.at_least or 0)


def test_a_short_look_changes_repeats_points_and_scenario(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    quick = "quick: {repeats: 1, scenario: {load.requests: 2}, over: {sampling.max_tokens: [2]}}"
    path.write_text(TEXT + quick)
    whole, short = (load_experiment(path, quick=quick) for quick in (False, True))
    assert (whole.repeats, short.repeats) == (3, 1)
    assert (len(whole.points), short.points) == (2, [{"sampling.max_tokens": 2}])
    schedules = [each.scenario_at(each.points[0]).schedule() for each in (whole, short)]
    assert [schedule.num_requests for schedule in schedules] == [4, 2]


def test_each_workload_is_a_point_with_its_own_keys(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    loads = "workloads: {short: {prompts.text: [Hi]}, long: {prompts.source: synthetic, prompts.length: 50}}"
    path.write_text(
        TEXT.replace("prompts: {source: text, text: [Hello there]}", "prompts: {source: text}") + loads
    )
    experiment = load_experiment(path)
    assert [tuple(point.values()) for point in experiment.points] == [
        ("short", 2), ("short", 4), ("long", 2), ("long", 4)
    ]  # fmt: skip
    first, *_, last = (next(experiment.scenario_at(p).schedule().arrivals) for p in experiment.points)
    assert (first.prompt.text, first.sampling["max_tokens"]) == ("Hi", 2)
    assert (len(last.prompt.text or "") > 50, last.sampling["max_tokens"]) == (True, 4)
    path.write_text(path.read_text().replace("at_least: 1.0}", "at_least: 1.0, growth: true}"))
    with pytest.raises(LabError, match="growth is from the first value of one key"):
        load_experiment(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("variants: {a: {}, b: {max_num_seqs: 1}}", "variants: {a: {}}", "give at least two"),
        ("figures: [ttft p50,", "figures: [ttft p98.", "p98"),
        ("variant: b, figure", "variant: a, figure", "'a' is none of b"),
        ("figure: ttft p50, at", "figure: goodput, at", "'goodput' is none of the figures"),
        ("at_least: 1.0}", "at_least: 1.0, at_most: 2.0}", "at_least or at_most, and not both"),
        ("at_least: 1.0}", "at_least: 1.0, at: {sampling.max_tokens: 3}}", "there is no point at"),
        ("question:", "questoin:", "questoin"),
        ("requests: 4", "requets: 4", "requets"),
        ("schema: 1", "schema: 2", "schema"),
        ("costs:", "repeats: 0\ncosts:", "repeats is 0"),
        ("costs:", "repeats: 1000\ncosts:", "4000 runs are more than 500"),
    ],
)
def test_what_is_wrong_is_told_with_the_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(LabError, match=r"small\.yaml: ") as error:
        load_experiment(path)
    assert message in str(error.value)


def test_unknown_names_are_told_with_the_nearest() -> None:
    with pytest.raises(LabError, match="did you mean 'batching'"):
        locate("batchin")
    with pytest.raises(LabError, match=r"none\.yaml: no such file"):
        locate("none.yaml")


def test_the_experiment_and_the_list_of_the_documentation_hold(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "lab.md").read_text("utf-8")
    block = re.search(r"^    schema: 1\n(?:    .*\n)+", page, re.MULTILINE)
    assert block
    path = tmp_path / "chunks.yaml"
    path.write_text(re.sub(r"^    ", "", block[0], flags=re.MULTILINE))
    assert len(load_experiment(path).points) == 2
    for name in names():
        assert f"| `{name}` | {load_experiment(locate(name)).question} |" in page
