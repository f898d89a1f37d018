"""The server's configuration: one class, from which file, command line and environment are made."""

from __future__ import annotations

import json
import pkgutil
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from reference_server.engine.config import EngineConfig
from reference_server.model_store import TINY_RANDOM, resolve
from reference_server.not_built import NOT_BUILT_QUANTIZATION
from reference_server.speculative import speculative_config
from reference_server.suggest import suggestion

_Name = Annotated[str, Field(min_length=1)]
_DTYPE_ALIASES = {"half": "float16", "float": "float32"}


def _names(value: Any) -> Any:  # noqa: ANN401  # a validator takes whatever came
    """Several names: a list, or one text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    return [part.strip() if isinstance(part, str) else part for part in parts or ()]


def _lower(value: Any) -> Any:  # noqa: ANN401  # as above
    return value.lower() if isinstance(value, str) else value


def _dtype(value: Any) -> Any:  # noqa: ANN401  # as above
    return _DTYPE_ALIASES.get(value, value) if isinstance(value, str) else value


def _on_off(value: Any) -> Any:  # noqa: ANN401  # as above
    """YAML reads a bare on or off as true or false."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def _mapping(value: Any) -> Any:  # noqa: ANN401  # as above
    """A mapping, or one as JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(f"it should be a JSON object ({error})") from None


def _extensions(package: str) -> list[str]:
    """The names of the extensions in a package beside this file, without importing it."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent / package)])
    return sorted(module.name for module in modules if not module.ispkg and module.name[0] != "_")


class ServerConfig(BaseModel):
    """Everything that can be set, with vLLM's names. The descriptions are the texts of ``--help``."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True, protected_namespaces=()
    )

    model: str = Field(
        "smollm2-135m",
        min_length=1,
        description=(
            "Model: a name in the model store, the path of a .gguf file or of a Hugging Face folder, "
            "or tiny-random (seeded weights, for tests)."
        ),
    )
    served_model_name: Annotated[tuple[_Name, ...], BeforeValidator(_names)] = Field(
        (),
        description="Name of the model in the API, several with commas between them; left out, it is MODEL.",
    )
    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    engine: Literal["model", "timetable"] = Field(
        "model",
        description=(
            "What answers: a model, or a timetable that emits tokens at scripted times "
            "(it has options of its own: --engine timetable --help)."
        ),
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to compute.")
    dtype: Annotated[Literal["auto", "float32", "bfloat16", "float16"], BeforeValidator(_dtype)] = Field(
        "auto", description="Number format of weights and computation."
    )
    quantization: str | None = Field(
        None, description="How linear layers hold weights; left out, the file decides."
    )
    attention_backend: str = Field(
        "auto",
        description=(
            "How attention is computed: auto takes triton on a GPU and paged elsewhere; "
            "dense is the slow specification."
        ),
    )
    enforce_eager: bool = Field(False, description="Record no CUDA graphs: every step runs eagerly.")
    speculative_config: Annotated[dict[str, Any] | None, BeforeValidator(_mapping)] = Field(
        None,
        description=(
            'Draft tokens and verify several in one step, as JSON: {"method": "ngram", '
            '"num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}.'
        ),
    )
    block_size: int | None = Field(
        None, ge=1, description="Tokens of a KV block; left out, the device decides."
    )
    max_model_len: int | None = Field(
        None,
        ge=1,
        description="Prompt and output together, in tokens; left out, what the model was made for.",
    )
    max_num_seqs: int = Field(64, ge=1, description="Sequences that run at once at most.")
    max_num_batched_tokens: int = Field(512, ge=1, description="Tokens computed in one step at most.")
    enable_chunked_prefill: bool = Field(True, description="A prompt may be computed over several steps.")
    long_prefill_token_threshold: int | None = Field(
        None,
        ge=0,
        description=(
            "Tokens of one prompt in a step while other requests run or wait; 0: no limit; left out, a "
            "prompt that takes several steps makes none more than 2.4 times as long as those of decoding."
        ),
    )
    enable_prefix_caching: bool = Field(
        True, description="Prompts that begin alike compute their beginning once."
    )
    scheduling_policy: Literal["fcfs", "priority"] = Field(
        "fcfs", description="First come, first served, or lower values of the request's priority first."
    )
    batching: str = Field(
        "continuous",
        description=(
            "How requests share steps: continuous lets them join and leave at every step; static lets a "
            "batch in when all of the former have ended, pads it to its longest and holds the ended in place."
        ),
    )
    kv_allocation: str = Field(
        "paged",
        description=(
            "What a request gets of the KV cache: paged gives blocks as it grows, contiguous reserves "
            "max_model_len tokens for each."
        ),
    )
    kv_cache: Annotated[str, BeforeValidator(_on_off)] = Field(
        "on", description="on keeps keys and values; off computes the whole sequence again for each token."
    )
    gpu_memory_utilization: float | None = Field(
        None, gt=0, le=1, description="Share of the GPU's memory for weights and KV cache; left out, 0.9."
    )
    cpu_kvcache_space: float | None = Field(
        None, gt=0, description="GiB of KV cache on a CPU; left out, what the machine allows."
    )
    num_gpu_blocks_override: int | None = Field(
        None, ge=1, description="Number of KV blocks, whatever the memory; for tests and experiments."
    )
    cpu_threads: int | None = Field(
        None, ge=1, description="Threads that compute on a CPU; left out, one core stays free for HTTP."
    )
    seed: int = Field(0, ge=0, description="Seed of random weights.")
    api_key: SecretStr | None = Field(
        None,
        min_length=1,
        description="Key that clients must send; better set in the environment than in sight of other users.",
    )
    max_num_queued_reqs: int | None = Field(
        None,
        ge=0,
        description="Sequences that may wait before requests are turned away with 503; left out, any number.",
    )
    shutdown_timeout: float = Field(
        30.0, ge=0, description="Seconds that running requests are given when the server is stopped."
    )
    server_dev_mode: bool = Field(
        False, description="Offer /reset_prefix_cache, for development and measurements."
    )
    engine_client: Literal["process", "thread"] = Field(
        "process", description="Where the engine runs: in a process of its own, or beside HTTP in a thread."
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = Field(
        "info", description="Least severity of what is logged."
    )

    @field_validator("quantization")
    @classmethod
    def _check_quantization(cls, value: str | None) -> str | None:
        if value in NOT_BUILT_QUANTIZATION:
            raise ValueError(f"{value} is not built yet; there are {', '.join(_extensions('quantization'))}")
        return None if value is None else _one_of(value, _extensions("quantization"))

    @field_validator("attention_backend")
    @classmethod
    def _check_attention_backend(cls, value: str) -> str:
        return _one_of(value, ["auto", *_extensions("attention")])

    @field_validator("batching", "kv_allocation", "kv_cache")
    @classmethod
    def _check_mode(cls, value: str, info: ValidationInfo) -> str:
        return _one_of(value, _extensions(str(info.field_name)))

    @field_validator("speculative_config")
    @classmethod
    def _check_speculative_config(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        if value is not None:
            speculative_config(value)
        return value

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names by which clients may ask for the model, at least one."""
        return self.served_model_name or (self.model,)

    def to_engine_config(self) -> EngineConfig:
        """The engine's part, with the place of the model.

        Raises:
            ModelStoreError: There is no such model here; the message tells how to get it.
        """
        own = self.model_dump(include=set(EngineConfig.__struct_fields__) - {"model"})
        drafts = own["speculative_config"]
        if drafts is not None and "model" in drafts:
            own["speculative_config"] = drafts | {"model": _place_of(drafts["model"])}
        return EngineConfig(model=_place_of(self.model), **own)

    def describe(self) -> str:
        """The settings that were given, as ``name=value``; secrets are masked."""
        given = (f"{name}={_shown(value)}" for name, value in self if name in self.model_fields_set)
        return ", ".join(given) or "all defaults"


def _place_of(model: str) -> str:
    return TINY_RANDOM if model == TINY_RANDOM else str(resolve(model))


def _shown(value: Any) -> str:  # noqa: ANN401  # any setting
    if isinstance(value, dict):
        return json.dumps(value)
    return "|".join(value) if isinstance(value, tuple) else str(value)


def _one_of(value: str, known: list[str]) -> str:
    if value not in known:
        raise ValueError(f"there is no {value!r}; there are {', '.join(known)}{suggestion(value, known)}")
    return value
