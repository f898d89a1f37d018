"""What the command says, and with which code it ends, where no load is sent."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from support.tokenpace_command import tokenpace

from harness.__main__ import main as entry_point
from harness.cli import cli, main

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess


def test_help_is_quick_and_lists_the_commands() -> None:
    done = tokenpace("--help")
    assert done.returncode == 0
    for name in ("run", "report", "serve", "model", "scenarios"):
        assert f"  {name}" in done.stdout


def test_scenarios_prints_a_file_to_copy(timetable: TimetableProcess, tmp_path: Path) -> None:
    copy = tmp_path / "mine.yaml"
    copy.write_text(tokenpace("scenarios", "smoke").stdout)
    done = tokenpace("run", copy, "--base-url", timetable.url, "--output", tmp_path / "r", "-q")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r" / "result.json").read_text())["scenario_name"] == "smoke"


@pytest.mark.parametrize("command", ["scenarios", "--help", "run --help"])
def test_R2_a_full_standard_output_is_said_plainly(command: str) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 (a device)
        done = subprocess.run(
            [sys.executable, "-m", "harness", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr == "tokenpace: standard output can't be written (No space left on device)\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "a" * 400],
        ["compare", "a" * 400, "b"],
        ["run", "a" * 400, "--base-url", "http://127.0.0.1:1"],
        ["run", "chat", "--base-url", "http://127.0.0.1:1", "--set", f"tokenizer=./{'a' * 400}"],
    ],
)
def test_a_path_that_no_file_system_takes_is_a_usage_error(arguments: list[str]) -> None:
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 2
    assert "is longer than a file's name may be; give a shorter one" in done.stderr


def test_an_unknown_fault_is_no_missed_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "main", _raise)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 70


def _raise(**_: object) -> None:
    raise RuntimeError("unforeseen")


def test_a_header_without_a_colon_is_not_repeated(scenario: Path) -> None:
    done = tokenpace("run", scenario, "--base-url", "127.0.0.1:9", "--header", "Authorization Bearer sk-xyz")
    assert done.returncode == 2
    assert "sk-xyz" not in done.stderr


class _InterruptedWhileImported:
    """Takes the place of a finder: Ctrl-C comes while the command is looked for."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "harness.cli":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_command_is_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "harness.cli")
    monkeypatch.setattr(sys, "meta_path", [_InterruptedWhileImported(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        entry_point()
    assert (ended.value.code, capsys.readouterr().err) == (130, "tokenpace: interrupted\n")
