"""Whose names a server's metrics have. A dialect is one new file of this folder.

The file's name is the dialect's name. It holds one subclass of ``Dialect`` that says what the server calls
each figure (``harness.telemetry.figures``), newest name first; a method takes the place of names where names
alone don't do::

    class Mine(Dialect):
        prefix = "mine:"
        running = ("requests_running",)
        generation_tokens = ("tokens_total",)

A server is spoken to in the dialect that makes out most of its figures.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from harness.telemetry.figures import Distribution, Figures
from scenarios.extensions import extension_class, extension_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.telemetry.exposition import Exposition, Sample

Names: TypeAlias = tuple[str, ...]
_HISTOGRAMS = ("ttft", "queue_time", "itl")
_PARTS = ("_count", "_sum")


class Dialect:
    """The contract of a dialect: names without ``prefix``, of which the first that is there counts.

    Attributes:
        prefix: What every name begins with.
        path: Where the page is, from the server's root.
        extra: Names that only the methods of the dialect read.
    """

    prefix: ClassVar[str]
    path: ClassVar[str] = "/metrics"
    running: ClassVar[Names] = ()
    waiting: ClassVar[Names] = ()
    kv_usage: ClassVar[Names] = ()
    prompt_tokens: ClassVar[Names] = ()
    generation_tokens: ClassVar[Names] = ()
    preemptions: ClassVar[Names] = ()
    prefix_cache_queries: ClassVar[Names] = ()
    prefix_cache_hits: ClassVar[Names] = ()
    ttft: ClassVar[Names] = ()
    queue_time: ClassVar[Names] = ()
    itl: ClassVar[Names] = ()
    extra: ClassVar[Names] = ()

    @property
    def name(self) -> str:
        """The name of its file."""
        return type(self).__module__.rpartition(".")[2]

    @functools.cached_property
    def wanted(self) -> frozenset[str]:
        """The whole names of all samples that it reads, but for the buckets of histograms."""
        plain = {name for field in Figures.__struct_fields__ for name in getattr(self, field)}
        parts = {name + part for field in _HISTOGRAMS for name in getattr(self, field) for part in _PARTS}
        return frozenset(self.prefix + name for name in plain | parts | {*self.extra})

    @functools.cached_property
    def all_wanted(self) -> frozenset[str]:
        """Those with the buckets."""
        names = (name for field in _HISTOGRAMS for name in getattr(self, field))
        return self.wanted | {f"{self.prefix}{name}_bucket" for name in names}

    def figures(self, page: Exposition) -> Figures:
        """The figures that a page shows."""
        return Figures(
            running=self.gauge(page, self.running),
            waiting=self.gauge(page, self.waiting),
            kv_usage=self.usage(page),
            prompt_tokens=self.prompt_token_count(page),
            generation_tokens=self.total(page, self.generation_tokens),
            preemptions=self.total(page, self.preemptions),
            prefix_cache_queries=self.cache_queries(page),
            prefix_cache_hits=self.cache_hits(page),
            ttft=self.distribution(page, self.ttft),
            queue_time=self.distribution(page, self.queue_time),
            itl=self.distribution(page, self.itl),
        )

    def samples(self, page: Exposition, names: Names) -> list[Sample]:
        """The samples of the first name that is there."""
        return next((page[self.prefix + name] for name in names if self.prefix + name in page), [])

    def total(self, page: Exposition, names: Names) -> float | None:
        """Their sum over all label sets."""
        found = self.samples(page, names)
        return sum(sample.value for sample in found) if found else None

    def gauge(self, page: Exposition, names: Names) -> float | None:
        """A number of requests, over all engines."""
        return self.total(page, names)

    def usage(self, page: Exposition) -> float | None:
        """The share of the KV cache in use."""
        found = self.samples(page, self.kv_usage)
        return max((sample.value for sample in found), default=None)

    def prompt_token_count(self, page: Exposition) -> float | None:
        """All prompt tokens, computed or cached."""
        return self.total(page, self.prompt_tokens)

    def cache_queries(self, page: Exposition) -> float | None:
        """What was looked up in the prefix cache."""
        return self.total(page, self.prefix_cache_queries)

    def cache_hits(self, page: Exposition) -> float | None:
        """What was found in the prefix cache."""
        return self.total(page, self.prefix_cache_hits)

    def distribution(self, page: Exposition, names: Names) -> Distribution | None:
        """The first histogram that is there, over all label sets."""
        for name in names:
            count, sum_s = (self.total(page, (name + part,)) for part in ("_count", "_sum"))
            if count is not None and sum_s is not None:
                return Distribution(count, sum_s, _merged(self.samples(page, (f"{name}_bucket",))))
        return None


def _merged(buckets: Iterable[Sample]) -> tuple[tuple[float, float], ...]:
    merged: dict[float, float] = {}
    for sample in buckets:
        try:
            edge = float(sample.labels.get("le", "inf"))
        except ValueError:
            continue
        merged[edge] = merged.get(edge, 0.0) + sample.value
    return tuple(sorted((edge, count) for edge, count in merged.items() if edge < float("inf")))


@functools.cache
def every_dialect() -> tuple[Dialect, ...]:
    """All dialects, by name.

    Raises:
        LookupError: A file doesn't hold one subclass of the contract.
    """
    return tuple(extension_class(__name__, name, Dialect)() for name in extension_names(__name__))


def dialect_of(page: Exposition) -> Dialect | None:
    """The dialect that makes out most of a page, None if none makes out anything."""
    best = max(every_dialect(), key=lambda dialect: dialect.figures(page).num_known)
    return best if best.figures(page).num_known else None
