"""The JSON schema of ``result.json``."""

from __future__ import annotations

from typing import Any

import msgspec

from reports.result import SCHEMA_VERSION, Result


def result_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a saved result."""
    schema = msgspec.json.schema(Result)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tokenpace result, schema version {SCHEMA_VERSION}",
    }
    return head | schema


def schema_text() -> str:
    """The schema as the file in ``docs`` holds it."""
    return msgspec.json.format(msgspec.json.encode(result_schema()), indent=2).decode() + "\n"
