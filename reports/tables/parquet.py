"""Parquet, by pyarrow: columns with their types, their meaning in each field's metadata, zstd."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from reports.tables import Kind, TableError
from reports.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from reports.tables import Column, Row

SUFFIX: Final = ".parquet"
_ROWS_PER_GROUP: Final = 16_384


def write(path: Path, columns: Sequence[Column], rows: Iterable[Row], facts: Mapping[str, str]) -> int:
    """See ``reports.tables``. Facts go into the schema's metadata."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError(
            "Parquet needs pyarrow: pip install 'tokenpace[parquet]', or export --format csv"
        ) from error
    types = {
        Kind.INTEGER: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.TEXT: pa.string(),
        Kind.TRUTH: pa.bool_(),
    }
    fields = [
        pa.field(column.name, types[column.kind], metadata={"meaning": column.meaning}) for column in columns
    ]
    schema = pa.schema(fields, metadata=dict(facts))
    num_rows = 0
    with path.open("xb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        rest = iter(rows)
        while group := list(itertools.islice(rest, _ROWS_PER_GROUP)):
            arrays = [
                pa.array(map(_safe, values), field.type)
                for field, values in zip(fields, zip(*group, strict=True), strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            num_rows += len(group)
    return num_rows


def _safe(value: Any) -> Any:  # noqa: ANN401 (a value of any column)
    """Text without what can't be UTF-8."""
    return printable(value) if isinstance(value, str) else value
