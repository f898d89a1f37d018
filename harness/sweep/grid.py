"""The points of a sweep: every combination of the values of some keys."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import yaml

from harness.errors import HarnessError
from reports.sweep.table import Axis
from scenarios.documents import YAML_ERRORS
from scenarios.errors import ScenarioError
from scenarios.yaml_numbers import Loader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_POINTS: Final = 1_000


class SweepError(HarnessError, ValueError):
    """The grid can't be used. The message names the key and the remedy."""


class Grid:
    """Keys and their values.

    Args:
        axes: In order: the last one varies fastest.

    Raises:
        SweepError: There is none, one is there twice, or there are too many points.
    """

    def __init__(self, axes: Iterable[Axis]) -> None:
        self.axes = tuple(axes)
        keys = [axis.key for axis in self.axes]
        if not keys:
            raise SweepError("nothing to vary; give --over load.rate=1,2,4")
        if twice := {key for key in keys if keys.count(key) > 1}:
            raise SweepError(f"--over {min(twice)} is there twice; give all its values in one")
        if len(self) > MAX_POINTS:
            raise SweepError(f"{len(self):,} points are more than {MAX_POINTS:,}; give fewer values")

    def __len__(self) -> int:
        num = 1
        for axis in self.axes:
            num *= len(axis.values)
        return num

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The values of each point, by key."""
        for values in itertools.product(*(axis.values for axis in self.axes)):
            yield {axis.key: value for axis, value in zip(self.axes, values, strict=True)}


def parse_axis(key: str, text: str) -> Axis:
    """The axis of ``load.rate=1,2,4``; a value that holds a comma stands in brackets or quotes, as in YAML.

    Raises:
        SweepError: There are no values, or one is there twice.
    """
    try:
        values = yaml.load(f"[{text}]", Loader)  # noqa: S506 (a safe loader by descent)
    except ScenarioError as error:
        raise SweepError(f"--over {key}: {error}") from error
    except YAML_ERRORS as error:
        raise SweepError(f"--over {key}={text}: no list of values; write {key}=1,2,4") from error
    if not values:
        raise SweepError(f"--over {key}: no values; write {key}=1,2,4")
    written = [json.dumps(value, default=str) for value in values]
    if twice := {each for each in written if written.count(each) > 1}:
        raise SweepError(f"--over {key}: {min(twice)} is there twice")
    return Axis(key=key, values=tuple(values))


def as_overrides(values: dict[str, Any]) -> dict[str, str]:
    """A point as ``load_scenario`` takes it."""
    return {key: json.dumps(value, default=str) for key, value in values.items()}
