"""A result survives the disk, and its schema is the documented one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reports import result as results
from reports.document import DocumentError, schema_text
from reports.result import NAME, SCHEMA_VERSION, Result

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]


def test_saved_and_loaded_it_is_the_same(result: Result, tmp_path: Path) -> None:
    results.save(result, tmp_path / "result.json")
    assert results.load(tmp_path / "result.json") == result
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_A5_03_the_file_is_strict_json(make_result: Callable[..., Result], tmp_path: Path) -> None:
    """Numbers that are none become null, and no parser stumbles over NaN."""
    odd = make_result(num=10, scenario={"rate": float("inf"), "x": float("nan")})
    results.save(odd, tmp_path / "result.json")

    def refuse(token: str) -> float:
        raise AssertionError(token)

    data = json.loads((tmp_path / "result.json").read_text(), parse_constant=refuse)
    assert data["scenario"] == {"rate": None, "x": None}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not a tokenpace result"),
        ('{"schema_version": 99}', "schema version 99"),
        ("[]", "not a tokenpace"),
    ],
)
def test_what_is_no_result_is_refused_by_name(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(DocumentError, match=fault):
        results.load(tmp_path / "result.json")
    with pytest.raises(DocumentError, match="cannot be read"):
        results.load(tmp_path / "absent.json")


def test_the_documented_schema_is_current() -> None:
    """Made anew by writing there what ``schema_text(Result, SCHEMA_VERSION, NAME)`` says."""
    written = (ROOT / "docs" / "result.schema.json").read_text("utf-8")
    assert written == schema_text(Result, SCHEMA_VERSION, NAME)
