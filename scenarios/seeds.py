"""One generator for each source of chance, all derived from the scenario's one seed."""

from __future__ import annotations

import zlib

from numpy.random import PCG64, Generator, SeedSequence


def generator(seed: int, source: str) -> Generator:
    """That of one source: ``arrivals``, ``prompts``, ``sampling``, ``cancel`` or ``think_time``.

    The sources are independent: to draw more prompts doesn't move an arrival. The same seed gives the
    same numbers in every process (no use is made of ``hash``).
    """
    return Generator(PCG64(SeedSequence(seed, spawn_key=(zlib.crc32(source.encode()),))))
