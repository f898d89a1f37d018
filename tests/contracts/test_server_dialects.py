"""What every dialect of servers' metrics keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.telemetry.dialects import Dialect, dialect_of, every_dialect
from harness.telemetry.exposition import parse
from harness.telemetry.figures import Figures

PAGES = Path(__file__).parents[1] / "data" / "telemetry"


@pytest.mark.parametrize("dialect", every_dialect(), ids=lambda dialect: dialect.name)
def test_a_dialect_keeps_its_contract(dialect: Dialect) -> None:
    """Names behind one prefix, and a page of its server, of which it makes out load and tokens."""
    assert dialect.path.startswith("/")
    assert all(isinstance(getattr(dialect, field), tuple) for field in Figures.__struct_fields__)
    assert all(name.startswith(dialect.prefix) for name in dialect.all_wanted)
    assert dialect.wanted <= dialect.all_wanted
    page = parse((PAGES / f"{dialect.name}.txt").read_text())
    assert dialect_of(page) is dialect
    figures = dialect.figures(page)
    assert None not in (figures.running, figures.waiting, figures.prompt_tokens, figures.generation_tokens)
    assert figures.kv_usage is None or 0 <= figures.kv_usage <= 1
    assert dialect.figures({}).num_known == 0
