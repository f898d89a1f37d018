"""Speculative decoding: methods that guess next tokens of sequences, which one pass of the model verifies.

A method is a file here, whose name is its name in the configuration, with a class ``CONFIG`` that extends
:class:`LookupConfig`, or :class:`SpeculativeConfig` where it has to load something: its fields are the keys
of ``speculative_config``. It makes a :class:`Proposer`, which guesses; what becomes of the guesses is the
engine's business and the same for all methods, so that a poor guess costs time and never changes a text.
Neither this nor a method's file imports torch before a proposer is prepared: the configuration is checked by
them.
"""

from __future__ import annotations

import abc
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from reference_server.extensions import extension_names, load_extension
from reference_server.suggest import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.config import EngineConfig
    from reference_server.engine.sequence import Sequence

MAX_SPECULATIVE_TOKENS = 64
"""Tokens of a draft at most; no guess is right for so long that more would pay."""


class SpeculativeConfigError(ValueError):
    """The method is not built, or a key is unknown, missing or unfit. The message names it and the remedy."""


class Proposer(abc.ABC):
    """Guesses."""

    @abc.abstractmethod
    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """Guess the tokens that follow the known ones; once a step, for all sequences that decode in it.

        Args:
            limits: How many tokens each can use, at least 1. Memory or budget may leave room for fewer.

        Returns:
            The drafts, none longer than its limit, of tokens of the vocabulary; sequences may be left out.
        """

    def ended(self, sequence: Sequence) -> None:  # noqa: B027  # most methods have nothing to do here
        """Take note that a sequence has ended, by itself or by an abort: its tokens are all there will be.

        Called once for each, whether or not a draft was ever asked for.
        """

    def preempted(self, sequence: Sequence) -> None:  # noqa: B027  # as above
        """Take note that a sequence waits again, for how long nobody knows: give back what it holds."""

    def reset_prefix_cache(self) -> None:  # noqa: B027  # as above
        """Compute beginnings of prompts anew from now on, if any were kept."""

    def passes(self) -> SequenceOf[tuple[int, int]]:
        """Rows and time, ns, of each pass of a model that the last drafts took. Of those without one none."""
        return ()

    def check_invariants(self, live: Iterable[Sequence]) -> None:  # noqa: B027  # as above
        """Raise ``AssertionError`` if it holds anything for other than live sequences. For tests."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """The model whose tokens are guessed, as far as a method may need it.

    Attributes:
        config: The engine's settings.
        vocab_size: Number of token ids.
        eos_token_ids: Its end tokens.
        max_model_len: Tokens of a sequence at most.
        block_size: Tokens a KV block holds.
        dtype: Of computation, as torch names it.
        device: ``cpu`` or ``cuda``.
    """

    config: EngineConfig
    vocab_size: int
    eos_token_ids: tuple[int, ...]
    max_model_len: int
    block_size: int
    dtype: str
    device: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preparation:
    """A method that has loaded what it needs, before memory is given to keys and values.

    Attributes:
        make_proposer: Makes the proposer, given the number of KV blocks of the target.
        block_bytes: Memory that it needs for each of them.
        describe_memory: What it takes, in words, given their number; None for nothing worth a word.
    """

    make_proposer: Callable[[int], Proposer]
    block_bytes: int = 0
    describe_memory: Callable[[int], str] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpeculativeConfig(abc.ABC):
    """What all methods have in common.

    Attributes:
        num_speculative_tokens: Tokens of a draft at most.
        adaptive: Draft as many as pay, judged by how often guesses come true and how long steps take; else
            always as many as may be.

    Raises:
        SpeculativeConfigError: A value is unfit.
    """

    num_speculative_tokens: int
    adaptive: bool = True

    def __post_init__(self) -> None:
        check_count("num_speculative_tokens", self.num_speculative_tokens, MAX_SPECULATIVE_TOKENS)
        if type(self.adaptive) is not bool:
            raise SpeculativeConfigError(f"adaptive is {self.adaptive!r}; it must be true or false")

    @abc.abstractmethod
    def prepare(self, target: Target) -> Preparation:
        """Load what guessing takes beside the target.

        Raises:
            SpeculativeConfigError: It does not fit the target.
            ModelError: It can't be loaded.
        """

    def describe(self) -> str:
        """The method and its settings in words, for the log."""
        method = type(self).__module__.rpartition(".")[2]
        length = "of these as many as pay" if self.adaptive else "whether or not they pay"
        return f"{method}, {self.num_speculative_tokens} tokens at most, {length}, {self.describe_guess()}"

    @abc.abstractmethod
    def describe_guess(self) -> str:
        """What it guesses by, in words."""


class LookupConfig(SpeculativeConfig):
    """Of a method that loads nothing and takes next to no time."""

    def prepare(self, target: Target) -> Preparation:  # noqa: ARG002  # it needs none
        """See :class:`SpeculativeConfig`."""
        return Preparation(make_proposer=lambda _: self.make_proposer())

    @abc.abstractmethod
    def make_proposer(self) -> Proposer:
        """One for an engine."""


def check_count(key: str, value: object, most: int, *, least: int = 1) -> None:
    """Raise ``SpeculativeConfigError`` unless the value is a whole number from ``least`` to ``most``."""
    if type(value) is not int or not least <= value <= most:
        raise SpeculativeConfigError(f"{key} is {value!r}; it must be a whole number from {least} to {most}")


def check_number(key: str, value: object, most: float) -> None:
    """Raise ``SpeculativeConfigError`` unless the value is a number from 0 to ``most``."""
    if type(value) not in (int, float) or not 0 <= value <= most:  # type: ignore[operator]  # is a number
        raise SpeculativeConfigError(f"{key} is {value!r}; it must be a number from 0 to {most:g}")


def speculative_config(settings: Mapping[str, Any]) -> SpeculativeConfig:
    """Read and check what ``speculative_config`` holds.

    Args:
        settings: ``method``, and the keys of that method.

    Raises:
        SpeculativeConfigError: It can't be used.
    """
    if "method" not in settings:
        raise SpeculativeConfigError(f"the key method is missing; there are {_known_methods()}")
    method, rest = settings["method"], {key: settings[key] for key in settings if key != "method"}
    config = _config_of(method)
    keys = {field.name: field.default for field in dataclasses.fields(config)}
    for key in rest:
        if key not in keys:
            raise SpeculativeConfigError(
                f"method {method} has no key {key!r}; there are {', '.join(keys)}{suggestion(str(key), keys)}"
            )
    for key, default in keys.items():
        if default is dataclasses.MISSING and key not in rest:
            raise SpeculativeConfigError(f"the key {key} is missing")
    return config(**rest)


def _config_of(method: object) -> type[SpeculativeConfig]:
    if method not in method_names():
        close = suggestion(str(method), method_names())
        raise SpeculativeConfigError(f"method {method!r} is not built; there are {_known_methods()}{close}")
    name = str(method).replace("_", "-")
    return load_extension(sys.modules[__name__], name).CONFIG  # type: ignore[no-any-return]  # found by name: untyped


def method_names() -> list[str]:
    """Names of the methods, as the key ``method`` has them."""
    return [name.replace("-", "_") for name in extension_names(sys.modules[__name__])]


def _known_methods() -> str:
    return ", ".join(method_names())
