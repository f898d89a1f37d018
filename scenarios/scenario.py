"""A scenario: what is sent when, what is expected of it. The file's form is this class."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import Field, ValidationError, ValidationInfo, ValidatorFunctionWrapHandler, field_validator

from scenarios import library
from scenarios.arrivals import Load
from scenarios.documents import Document, Key, read_document
from scenarios.durations import Duration
from scenarios.errors import ScenarioError
from scenarios.faults import explain
from scenarios.overrides import override
from scenarios.plain_text import check_texts
from scenarios.plan import plan
from scenarios.prompts import Prompts
from scenarios.quality_text import QualityText
from scenarios.ranges import MAX_WHOLE
from scenarios.rates import Share
from scenarios.sampling import Sampling
from scenarios.section import Section, fault, faults_at
from scenarios.suggestions import did_you_mean
from scenarios.texts import Texts
from scenarios.timeouts import Timeouts
from scenarios.token_deadlines import TokenDeadlines
from scenarios.tokenizer import SERVER, WORDS, Tokenizer
from scenarios.tokenizers import TokenCounter, WordCounter, open_tokenizer

if TYPE_CHECKING:
    from scenarios.schedule import Schedule

SCHEMA_VERSION: Final = 1
ENDPOINTS: Final = ("chat", "completions", "responses", "embeddings")
MAX_NAME: Final = 100
"""File systems take 255 bytes; a result folder's name has the time in it too."""
Objections: TypeAlias = Callable[[Mapping[str, tuple[str, ...]]], Iterable[tuple[Key, str]]]
"""What is wrong with thresholds, each fault with its place in them, as whoever judges runs knows it."""


class Scenario(Section):
    """The keys of a scenario file.

    Attributes:
        schema_version: ``schema`` in the file: version of its form.
        name: Short name, for titles and result folders.
        description: One sentence about what it stands for.
        endpoint: ``chat``, ``completions``, ``responses`` or ``embeddings``.
        model: Name of the model as the server knows it; None to ask the server.
        tokenizer: Who counts tokens, for lengths of prompts and where the server doesn't say how long an
            answer was: ``words`` for nobody, ``server`` for its own tokenize call, or the path of a
            ``tokenizer.json``, of a model's folder or of a GGUF file.
        load: When requests are sent.
        prompts: What is asked.
        sampling: What else goes into the body of each request.
        timeouts: How long to wait for what.
        thresholds: Objectives by metric, as k6 writes them: ``ttft: ["p95 < 500ms"]``.
        quality: A text by which quality is measured before the load; None to measure none.
        confidence: Of a PASS or a FAIL, between 0 and 1.
        stall_limit: A gap between tokens longer than this is a stall.
        token_deadlines: When each token should be there, for ``token_deadline_attainment``.
        seed: Of all chance in the run.
        samples: How many prompts and answers are kept as text.
        tags: Free words that go into the result.
    """

    schema_version: int = Field(SCHEMA_VERSION, alias="schema")
    name: str = Field(examples=["chat"])
    description: str = ""
    endpoint: str = "chat"
    model: str | None = None
    tokenizer: Tokenizer = WORDS
    load: Load = Field(examples=["{arrivals: poisson, rate: 4, duration: 30s}"])
    prompts: Prompts = Field(examples=["{source: synthetic, length: 200}"])
    sampling: Sampling = Field(default_factory=Sampling)
    timeouts: Timeouts = Field(default_factory=Timeouts)
    thresholds: dict[str, Texts] = Field(default_factory=dict)
    quality: QualityText | None = None
    confidence: Share = 0.95
    stall_limit: Duration = 1_000_000_000
    token_deadlines: TokenDeadlines | None = None
    seed: int = Field(0, ge=0, le=MAX_WHOLE)
    samples: int = Field(3, ge=0, le=100_000)
    tags: dict[str, str] = Field(default_factory=dict)

    @field_validator("schema_version", mode="after")
    @classmethod
    def _known_version(cls, value: int) -> int:
        if value != SCHEMA_VERSION:
            raise fault(f"version {value} is unknown; this tokenpace reads version {SCHEMA_VERSION}")
        return value

    @field_validator("name", mode="after")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if not re.fullmatch(r"[\w-][\w.-]*", value):
            raise fault(f"{value!r} can't name a folder; use letters, digits, '-', '_' and '.'")
        if len(value) > MAX_NAME:
            raise fault(f"has {len(value)} characters; it names a folder and may have {MAX_NAME}")
        return value

    @field_validator("endpoint", mode="after")
    @classmethod
    def _known_endpoint(cls, value: str) -> str:
        if value not in ENDPOINTS:
            raise fault(f"'{value}' is unknown; {did_you_mean(value, ENDPOINTS)}")
        return value

    @field_validator("confidence", mode="after")
    @classmethod
    def _within(cls, value: float) -> float:
        if not 0.5 <= value < 1:
            raise fault(f"must be at least 0.5 and less than 1, such as 0.95; not {value:g}")
        return value

    @field_validator("stall_limit", mode="after")
    @classmethod
    def _some_time(cls, value: int) -> int:
        if value == 0:
            raise fault("must be longer than 0, else every gap is a stall; such as 1s")
        return value

    @field_validator("thresholds", mode="wrap")
    @classmethod
    def _judgeable(
        cls,
        written: Any,  # noqa: ANN401 (whatever the file holds)
        checked: ValidatorFunctionWrapHandler,
        info: ValidationInfo,
    ) -> dict[str, tuple[str, ...]]:
        thresholds: dict[str, tuple[str, ...]] = checked(written)
        objections: Objections | None = (info.context or {}).get("objections")
        faults = {} if objections is None else dict(objections(thresholds))
        if faults:
            is_single = {key for key, texts in written.items() if isinstance(texts, str)}
            places = {place[:1] if place[0] in is_single else place: text for place, text in faults.items()}
            raise faults_at(places, written)
        return thresholds

    @field_validator("tags", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {key: str(each) if isinstance(each, int | float) else each for key, each in value.items()}

    def local_counter(self) -> TokenCounter | None:
        """The tokenizer whose path the scenario names; None where it names none.

        Raises:
            ScenarioError: It can't be used.
        """
        return open_tokenizer(self.tokenizer) if isinstance(self.tokenizer, Path) else None

    def schedule(self, counter: TokenCounter | None = None) -> Schedule:
        """The plan of a run: same scenario, same plan, in every process.

        Args:
            counter: The server's own, where that is the tokenizer.

        Raises:
            ScenarioError: The prompts can't be read, there are none, or the endpoint doesn't take them; the
                tokenizer can't be used; it is the server's and ``counter`` wasn't given.
        """
        counter = counter or self.local_counter()
        if counter is None and self.tokenizer == SERVER:
            raise ScenarioError("tokenizer: server: there is no server to ask here")
        sections = (self.load, self.prompts, self.sampling)
        return plan(*sections, endpoint=self.endpoint, seed=self.seed, counter=counter)

    def outline(self) -> Schedule:
        """The plan, but for lengths in tokens: no tokenizer is read and no server asked."""
        return self.schedule(None if self.tokenizer == WORDS else WordCounter())

    def to_mapping(self) -> dict[str, Any]:
        """The scenario as plain data, from which ``scenario_from`` makes the same scenario."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def load_scenario(
    source: str | Path,
    overrides: Mapping[str, str] | None = None,
    objections: Objections | None = None,
) -> Scenario:
    """Read a scenario.

    Args:
        source: Path of a YAML or TOML file, or the name of a scenario of the library.
        overrides: Dotted keys to values as YAML reads them: ``{"load.rate": "5"}``.
        objections: What is wrong with its thresholds, to be told with all other faults; by default nothing.

    Raises:
        ScenarioError: Anything is wrong with it. The message names file, line, key, fault and remedy.
    """
    return _build(override(read_document(_locate(source)), overrides or {}), objections)


def scenario_from(
    data: Mapping[str, Any], overrides: Mapping[str, str] | None = None, folder: Path | None = None
) -> Scenario:
    """The scenario that ``data`` describes, with the keys of a scenario file.

    Args:
        data: Plain mappings, lists and scalars.
        overrides: As for ``load_scenario``.
        folder: Where relative paths start; the working directory by default.

    Raises:
        ScenarioError: Anything is wrong with it.
    """
    return _build(override(Document(dict(data), "scenario", {}, folder or Path()), overrides or {}))


def _locate(source: str | Path) -> Path:
    path = Path(source)
    if path.is_file() or isinstance(source, Path):
        return path
    if path.suffix or len(path.parts) > 1:
        known = f"; the library has '{path.stem}'" if path.stem in library.names() else ""
        fault = "a folder; give a scenario file in it" if path.is_dir() else f"no such file{known}"
        raise ScenarioError(f"{path}: {fault}")
    return library.find(source)


def _build(document: Document, objections: Objections | None = None) -> Scenario:
    check_texts(document)
    try:
        context = {"folder": document.folder, "objections": objections}
        return Scenario.model_validate(document.data, context=context)
    except ValidationError as error:
        raise explain(error, document) from error
