"""What is measured of a request.

A metric is one file of this folder, and the file's name is the metric's name in objectives and reports. It
holds one subclass of ``RequestMetric`` (one value for a request) or of ``TokenMetric`` (one for each chunk or
token)::

    class HeadTime(RequestMetric):
        unit = Unit.NS
        has_bases = True

        def value(self, record: Record, start_ns: int) -> float | Missing:
            head_ns = record.headers_ns
            return Missing("no response head came") if head_ns is None else head_ns - start_ns

Values are exact and in ``unit``; whoever counts them rounds, not the metric. A request without a value gives
``Missing`` with the reason, never 0 and never NaN. Only requests that succeeded are asked.
"""

from __future__ import annotations

import enum
import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from scenarios.extensions import extension_class, extension_names
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from harness.record import Record
    from harness.terms import Terms

Values: TypeAlias = Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]


class Unit(enum.StrEnum):
    """Units of metrics."""

    NS = "ns"
    TOKENS = "tokens"
    TOKENS_PER_SECOND = "tokens/s"
    SHARE = "share"
    STALLS = "stalls"
    REQUESTS = "requests"


class Missing(str):
    """The reason why a request has no value."""

    __slots__ = ()


class ClientError(enum.Enum):
    """How far late stamps move a value."""

    STAMP = enum.auto()
    """The value ends with a stamp, and begins when the request was due or sent."""
    INTERVAL = enum.auto()
    """The value lies between two stamps."""
    LONGEST = enum.auto()
    """The value is the longest of many intervals, so the worst stamp may be in it."""
    PER_TOKEN = enum.auto()
    """An interval spread over the tokens of a request."""
    NONE = enum.auto()
    """Not at all."""


NOT_STREAMED = Missing("the answer came in one piece, not as a stream")
NO_TOKEN = Missing("no token came")
ONE_CHUNK = Missing("fewer than two chunks came, so there is no time between tokens")
UNKNOWN_OUTPUT = Missing("the number of output tokens is not known")


class Metric(ABC):
    """The contract of a metric.

    Attributes:
        unit: Of its values.
        has_bases: Whether it exists on the response basis (from due) and the service basis (from sent).
        needs_stream: Whether an answer in one piece can't have it.
        needs_deadlines: Whether it has values only in a scenario that states ``token_deadlines``.
        needs_output_tokens: Whether it depends on how many tokens the answer has.
        client_error: How far the harness's own lag moves it.
    """

    unit: ClassVar[Unit]
    has_bases: ClassVar[bool] = False
    needs_stream: ClassVar[bool] = False
    needs_deadlines: ClassVar[bool] = False
    needs_output_tokens: ClassVar[bool] = False
    client_error: ClassVar[ClientError] = ClientError.STAMP

    @property
    def name(self) -> str:
        """The name of its file."""
        return type(self).__module__.rpartition(".")[2]

    def under(self, terms: Terms) -> Self:
        """This metric in a scenario of such terms."""
        del terms
        return self

    def exists_under(self, terms: Terms) -> bool:
        """Whether a scenario of such terms has it at all."""
        return terms.token_deadlines is not None or not self.needs_deadlines

    @abstractmethod
    def values(self, record: Record, start_ns: int) -> Values | Missing:
        """The values of one request.

        Args:
            record: A request that succeeded.
            start_ns: When it began, by the basis; without meaning for a metric that has no bases.

        Returns:
            At least one finite value >= 0, or why there is none.
        """


class RequestMetric(Metric):
    """One value for a request: an objective can be asked of each request by itself."""

    @abstractmethod
    def value(self, record: Record, start_ns: int) -> float | Missing:
        """The value, or why there is none."""

    def values(self, record: Record, start_ns: int) -> Values | Missing:
        """The one value in a list."""
        value = self.value(record, start_ns)
        return value if isinstance(value, Missing) else (value,)


class TokenMetric(Metric):
    """A value for each chunk or token of a request."""


@functools.cache
def names() -> tuple[str, ...]:
    """All metrics there are, sorted; none is imported for this."""
    return extension_names(__name__)


@functools.cache
def metric(name: str) -> Metric:
    """The metric of that name.

    Raises:
        LookupError: There is none, or its file doesn't hold one subclass of the contract.
    """
    if name not in names():
        raise LookupError(f"'{name}' is no metric; {did_you_mean(name, names())}")
    found: Metric = extension_class(__name__, name, Metric)()  # type: ignore[type-abstract]  # only its subclasses are made
    return found


def every_metric() -> tuple[Metric, ...]:
    """All metrics, by name."""
    return tuple(metric(name) for name in names())
