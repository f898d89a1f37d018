"""One configuration from file, environment and flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from reference_server.config import ServerConfig
from reference_server.engine.config import EngineConfig
from reference_server.model_store import ModelAbsentError, UnknownModelError
from reference_server.not_built import NOT_BUILT
from reference_server.settings import ConfigError, flag, load_config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "serve.yaml"


def fault(**sources: object) -> str:
    """The message of a configuration that must be refused."""
    with pytest.raises(ConfigError) as error:
        load_config(**sources)  # type: ignore[arg-type]  # wrong on purpose
    return str(error.value)


def test_the_file_of_four_lines(file: Path) -> None:
    file.write_text("model: tiny-random\nquantization: none\ndtype: float16\ngpu_memory_utilization: 0.9\n")
    engine = load_config(file).to_engine_config()
    assert engine == EngineConfig(
        model="tiny-random", quantization="none", dtype="float16", gpu_memory_utilization=0.9
    )


def test_flags_win_over_environment_over_file_over_default(file: Path) -> None:
    file.write_text("port: 1\nseed: 1\nhost: file\n")
    environ = {"TOKENPACE_SERVE_PORT": "2", "TOKENPACE_SERVE_SEED": "2", "OTHER_PORT": "9"}
    config = load_config(file, environ, {"port": "3", "dtype": None})
    assert (config.port, config.seed, config.host, config.dtype) == (3, 2, "file", "auto")


def test_dashes_and_underscores_mean_the_same(file: Path) -> None:
    file.write_text("max-num-seqs: 3\nmax_model_len: 4\n")
    config = load_config(file)
    assert (config.max_num_seqs, config.max_model_len) == (3, 4)


@pytest.mark.parametrize(("text", "value"), [("1", True), ("true", True), ("off", False), ("No", False)])
def test_switches_in_the_environment(text: str, value: bool) -> None:
    environ = {"TOKENPACE_SERVE_ENABLE_CHUNKED_PREFILL": text}
    assert load_config(environ=environ).enable_chunked_prefill is value


def test_an_empty_variable_is_not_set() -> None:
    assert (
        load_config(environ={"TOKENPACE_SERVE_API_KEY": "", "TOKENPACE_SERVE_NONSENSE": ""}).api_key is None
    )


@pytest.mark.parametrize(
    ("given", "names"), [("a, b", ("a", "b")), (["a", "b"], ("a", "b")), (None, ("m",)), ([], ("m",))]
)
def test_names_of_the_model(given: object, names: tuple[str, ...]) -> None:
    config = ServerConfig(model="m", served_model_name=given)  # type: ignore[arg-type]  # what a file may hold
    assert config.model_names == names


def test_other_names_of_number_formats() -> None:
    assert [load_config(flags={"dtype": name}).dtype for name in ("half", "float")] == ["float16", "float32"]


def test_an_unknown_setting_is_told_in_the_spelling_of_its_place(file: Path) -> None:
    file.write_text("max_num_sequences: 3\n")
    assert fault(file=file) == f"max_num_sequences in {file} is no setting; did you mean max_num_seqs?"
    assert fault(environ={"TOKENPACE_SERVE_MODLE": "x"}) == (
        "TOKENPACE_SERVE_MODLE is no setting; did you mean TOKENPACE_SERVE_MODEL?"
    )
    assert fault(flags={"prot": "1"}) == "--prot is no setting; did you mean --port?"


@pytest.mark.parametrize("name", ["enable_lora", "kv_cache_dtype", "tensor_parallel_size"])
def test_what_is_not_built_is_refused_by_name(file: Path, name: str) -> None:
    file.write_text(f"{name}: 1\n")
    assert fault(file=file) == f"{name} in {file} is not built yet: {NOT_BUILT[name]}; leave it out"


def test_nothing_is_both_built_and_not_built() -> None:
    assert not set(NOT_BUILT) & set(ServerConfig.model_fields)


def test_quantization_that_is_not_built() -> None:
    assert "int4 is not built yet; there are gguf, int8, none" in fault(flags={"quantization": "int4"})
    assert "did you mean gguf?" in fault(flags={"quantization": "ggfu"})
    assert "there are auto, dense, paged" in fault(flags={"attention_backend": "flash"})


def test_all_faults_are_told_at_once_with_their_places() -> None:
    message = fault(environ={"TOKENPACE_SERVE_PORT": "-1"}, flags={"max_num_seqs": "many", "dtype": "int3"})
    assert message.splitlines() == [
        "TOKENPACE_SERVE_PORT is '-1': it should be greater than or equal to 0",
        "--dtype is 'int3': it should be 'auto', 'float32', 'bfloat16' or 'float16'",
        "--max-num-seqs is 'many': it should be a valid integer, unable to parse string as an integer",
    ]


@pytest.mark.parametrize(
    "flags",
    [
        {"gpu_memory_utilization": "0"},
        {"gpu_memory_utilization": "1.01"},
        {"gpu_memory_utilization": "nan"},
        {"cpu_kvcache_space": "inf"},
        {"shutdown_timeout": "inf"},
        {"shutdown_timeout": "-1"},
        {"port": "65536"},
        {"max_num_queued_reqs": "-1"},
        {"block_size": "0"},
        {"model": ""},
        {"served_model_name": "a,,b"},
        {"engine_client": "pigeon"},
        {"log_level": "loud"},
    ],
)
def test_values_out_of_range(flags: dict[str, str]) -> None:
    (name,) = flags
    assert fault(flags=flags).startswith(flag(name))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "no YAML"),
        ("- a", "lines of the form 'name: value'"),
        ("port: 1\nport: 2", "'port' stands there twice"),
        ("max-num-seqs: 1\nmax_num_seqs: 2", "sets max_num_seqs twice"),
        ("!!python/object/apply:os.getcwd []", "no YAML"),
        ("\xff\x00", "can't be read"),
    ],
)
def test_files_that_can_not_be_used(file: Path, content: str, message: str) -> None:
    file.write_text(content, encoding="latin-1")
    assert message in fault(file=file)


def test_an_absent_file_and_an_empty_one(file: Path) -> None:
    assert "No such file" in fault(file=file)
    file.touch()
    assert load_config(file) == ServerConfig()


def test_the_key_is_never_shown() -> None:
    config = load_config(flags={"api_key": "s3cret"})
    assert config.api_key == SecretStr("s3cret")
    for text in (
        repr(config),
        str(config),
        config.describe(),
        str(config.model_dump()),
        config.model_dump_json(),
    ):
        assert "s3cret" not in text
    assert config.describe() == "api_key=**********"
    assert "s3cret" not in fault(flags={"api_key": ["s3cret"]})


def test_settings_that_were_given_are_described() -> None:
    assert load_config(flags={"served_model_name": "a,b", "port": "1"}).describe() == (
        "served_model_name=a|b, port=1"
    )
    assert ServerConfig().describe() == "all defaults"


def test_every_setting_of_the_engine_can_be_set() -> None:
    """And has the same default: else the two would drift apart."""
    assert set(EngineConfig.__struct_fields__) <= set(ServerConfig.model_fields)
    assert ServerConfig(model="tiny-random").to_engine_config() == EngineConfig(model="tiny-random")


def test_ways_of_working_mean_the_same_in_file_environment_and_flags(file: Path) -> None:
    """YAML reads a bare off as false."""
    file.write_text("kv_cache: off\nbatching: static\nkv_allocation: contiguous\n")
    environ = {
        "TOKENPACE_SERVE_KV_CACHE": "off",
        "TOKENPACE_SERVE_BATCHING": "static",
        "TOKENPACE_SERVE_KV_ALLOCATION": "contiguous",
    }
    flags = {"kv_cache": "off", "batching": "static", "kv_allocation": "contiguous"}
    assert load_config(file) == load_config(environ=environ) == load_config(flags=flags)
    assert load_config(file).kv_cache == "off"
    assert "there is no 'dynamic'; there are continuous, static" in fault(flags={"batching": "dynamic"})
    assert "--kv-cache is 'none': there is no 'none'; there are off, on" in fault(flags={"kv_cache": "none"})


def test_every_setting_is_described() -> None:
    assert [name for name, field in ServerConfig.model_fields.items() if not field.description] == []


def test_the_place_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ModelAbsentError, match="tokenpace model pull smollm2-135m"):
        ServerConfig().to_engine_config()
    with pytest.raises(UnknownModelError, match="there is no model 'smolm2'"):
        ServerConfig(model="smolm2").to_engine_config()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.gguf").touch()
    assert ServerConfig(model="m.gguf").to_engine_config().model == str(tmp_path / "m.gguf")
