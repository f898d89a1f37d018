"""Tell ``/openapi.json`` about bodies that the endpoints read by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel


def body_of(*models: type[BaseModel]) -> dict[str, Any]:
    """OpenAPI's description of a body that is one of ``models``."""
    schemas = [model.model_json_schema() for model in models]
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
