"""The command line of the server."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from reference_server.cli import cli
from reference_server.config import ServerConfig
from reference_server.settings import flag

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ServerConfig]:
    """The configurations with which the server was started; it ends at once with exit code 7."""
    started: list[ServerConfig] = []

    def serve(config: ServerConfig) -> int:
        started.append(config)
        return 7

    monkeypatch.setattr("reference_server.api.server.serve", serve)
    return started


def run(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=environ)


def test_every_setting_is_an_option() -> None:
    shown = " ".join(run("serve", "--help").output.split())
    for name in ServerConfig.model_fields:
        assert flag(name) in shown
    assert "--enable-chunked-prefill / --no-enable-chunked-prefill" in shown
    assert "[default: 64]" in shown
    assert "[process|thread]" in shown


def test_options_environment_and_file_come_together(served: list[ServerConfig], tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("model: tiny-random\nseed: 5\nmax_num_seqs: 5\n")
    result = run(
        "serve", "--config", str(file), "--max_num_seqs=8", "--port", "0", "--no-enable-chunked-prefill",
        TOKENPACE_SERVE_HOST="::1",
    )  # fmt: skip
    assert result.exit_code == 7
    (config,) = served
    assert (config.model, config.seed, config.max_num_seqs, config.host) == ("tiny-random", 5, 8, "::1")
    assert config.enable_chunked_prefill is False
    assert "settings: model=tiny-random, host=::1, port=0" in result.stderr


def test_the_model_as_argument(served: list[ServerConfig]) -> None:
    assert run("serve", "tiny-random").exit_code == 7
    assert run("serve", "tiny-random", "--model", "tiny-random").exit_code == 7
    assert [config.model for config in served] == ["tiny-random"] * 2
    twice = run("serve", "tiny-random", "--model", "other")
    assert twice.exit_code == 2
    assert "given twice" in twice.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--enable-lora"], "--enable-lora is not built yet: adapters are not served"),
        (["--no-enable-lora"], "--enable-lora is not built yet"),
        (["--kv_cache_dtype", "fp8"], "--kv-cache-dtype is not built yet"),
        (["--tensor-parallel-size=2"], "--tensor-parallel-size is not built yet"),
        (["--max-num-seq", "3"], "--max-num-seq is no setting; did you mean --max-num-seqs?"),
        (["--port", "http"], "--port is 'http': it should be a valid integer"),
        (["--port"], "requires an argument"),
        (["--model", "smollm2-135"], "did you mean smollm2-135m?"),
        (["./no/such.gguf"], "there is no file or folder './no/such.gguf'"),
        (["--config", "/no/such.yaml"], "/no/such.yaml can't be read"),
        (["a", "b"], "unexpected extra argument (b)"),
    ],
)
def test_bad_usage_is_one_message_and_exit_code_2(
    served: list[ServerConfig], arguments: list[str], message: str
) -> None:
    result = run("serve", *arguments)
    assert (result.exit_code, served) == (2, [])
    assert message in result.stderr
    assert result.stderr.count("Error: ") == 1


def test_an_absent_model_names_the_command_that_fetches_it(tmp_path: Path) -> None:
    result = run("serve", XDG_CACHE_HOME=str(tmp_path))
    assert result.exit_code == 2
    assert "tokenpace model pull smollm2-135m" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--engine", "timetable", "--ttft", "1ms"], ["--ttft", "1ms", "--engine=timetable"]]
)
def test_the_timetable_server_takes_all_other_arguments(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    given: list[Any] = []
    monkeypatch.setattr("reference_server.timetable.main", lambda args, _: given.append(args) or 3)
    assert run("serve", *arguments).exit_code == 3
    assert given == [["--ttft", "1ms"]]


def test_the_usage_of_the_timetable_is_how_it_was_called() -> None:
    result = run("serve", "--engine", "timetable", "--nonsense")
    assert result.exit_code == 2
    assert re.search(r"^Usage: \w+ serve --engine timetable \[OPTIONS\]$", result.stderr, re.MULTILINE)


def test_the_timetable_is_chosen_on_the_command_line_only() -> None:
    result = run("serve", TOKENPACE_SERVE_ENGINE="timetable")
    assert result.exit_code == 2
    assert "tokenpace serve --engine timetable" in result.stderr


def test_help_imports_nothing_heavy() -> None:
    """Else everybody who asks for help waits for torch."""
    code = (
        "import sys; from reference_server.cli import cli; cli(['serve', '--help'], standalone_mode=False); "
        "print([m for m in ('torch', 'fastapi', 'numpy', 'tokenizers', 'yaml', 'zmq') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reference_server", "serve", "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--nonsense is no setting" in done.stderr
