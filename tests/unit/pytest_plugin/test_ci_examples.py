"""The CI examples: files that their services can read, whose commands, options and paths exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from harness.cli import CommandsByFile
from harness.pytest.settings import SETTINGS
from reports.result import Verdict
from scenarios import library

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "ci"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def _read(name: str) -> dict[str, Any]:
    text = (FOLDER / name).read_text()
    loaded: dict[str, Any] = yaml.load(text, yaml.BaseLoader)  # texts only: 'on' stays a key
    return loaded


GITHUB, GITLAB = _read("github-actions.yml"), _read("gitlab-ci.yml")
STEPS = [step for job in GITHUB["jobs"].values() for step in job["steps"]]
JOBS = [job for name, job in GITLAB.items() if isinstance(job, dict) and "script" in job]
LINES = [
    *(line for step in STEPS for line in step.get("run", "").splitlines()),
    *(line for job in JOBS for line in job["script"]),
]
VARIABLES = {name: value for step in STEPS for name, value in step.get("env", {}).items()}
VARIABLES |= {name: value for job in JOBS for name, value in job.get("variables", {}).items()}


def test_github_has_what_a_workflow_needs() -> None:
    assert set(GITHUB) <= {"name", "on", "concurrency", "jobs"}
    for job in GITHUB["jobs"].values():
        assert {"runs-on", "steps"} <= set(job) <= {"name", "runs-on", "timeout-minutes", "steps"}
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert set(step) <= {"name", "run", "uses", "with", "env", "if"}
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


def test_gitlab_has_what_a_pipeline_needs() -> None:
    assert set(GITLAB) == {"stages", "default", "variables", ".measured", "sla-tests", "scenario"}
    for job in JOBS:
        assert job["extends"] == ".measured"
        assert GITLAB[".measured"]["stage"] in GITLAB["stages"]
        assert set(job) <= {"extends", "variables", "script", "artifacts", "allow_failure"}
        assert job["artifacts"]["when"] == "always"


def test_results_are_kept_also_of_a_failure() -> None:
    kept = [step for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact")]
    assert len(kept) == len(GITHUB["jobs"])
    assert all(step["if"] == "always()" and "results/" in step["with"]["path"] for step in kept)
    assert all("results/" in job["artifacts"]["paths"] for job in JOBS)
    assert GITLAB["sla-tests"]["artifacts"]["reports"]["junit"] == "results/sla.xml"
    assert sum("--junitxml=results/sla.xml" in line for line in LINES) == 2


def test_variables_are_settings_of_the_plugin() -> None:
    known = {setting.variable for setting in SETTINGS} | {"SLA_API_KEY"}
    assert {name for name in VARIABLES if name.startswith("SLA_")} <= known
    assert {"SLA_ENDPOINT", "SLA_SERVE", "SLA_RESULTS", "SLA_REPORT"} <= set(VARIABLES)


def test_extras_exist() -> None:
    asked = {
        extra
        for line in LINES
        for found in re.findall(r"tokenpace\[([\w,]+)]", line)
        for extra in found.split(",")
    }
    assert asked == {"pytest", "server"} <= set(EXTRAS)


@pytest.mark.parametrize("line", [line.strip() for line in LINES if line.strip().startswith("tokenpace ")])
def test_commands_and_options_exist(line: str) -> None:
    words = shlex.split(re.split(r"[>|&]", line)[0])[1:]
    group = CommandsByFile()
    command = group.get_command(click.Context(group), words[0])
    assert command is not None
    if words[0] in ("serve", "model"):  # the server's own program reads the rest
        return
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
    assert words[1] in library.names()


def test_all_exit_codes_are_told_apart() -> None:
    script = next(step["run"] for step in STEPS if "case $code in" in step.get("run", ""))
    codes = {
        int(code)
        for found in re.findall(r"^\s*([\d|]+)\)", script, re.MULTILINE)
        for code in found.split("|")
    }
    assert codes == {verdict.exit_code for verdict in Verdict} | {2, 129, 130, 143}
    for verdict in Verdict:
        assert re.search(rf"^\s*{verdict.exit_code}\) .*{verdict.value}", script, re.MULTILINE)
    assert GITLAB["scenario"]["allow_failure"]["exit_codes"] == [str(Verdict.INCONCLUSIVE.exit_code)]


def test_docs_link_to_them() -> None:
    text = (ROOT / "docs" / "pytest.md").read_text()
    for name in ("ci/github-actions.yml", "ci/gitlab-ci.yml", "sla-project"):
        assert f"(../examples/{name})" in text
        assert (ROOT / "examples" / name).exists()
