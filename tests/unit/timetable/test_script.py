"""Scripts: options, overrides, mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from reference_server.timetable.script import Script, ScriptError, make_script


def test_text_of_the_command_line_is_converted() -> None:
    script = make_script({"ttft": "1s", "tokens": "7", "done": "false", "tail_share": "0.5", "role": "off"})
    assert (script.ttft, script.tokens, script.done, script.tail_share) == (1_000_000_000, 7, False, 0.5)


def test_override_keeps_the_other_fields() -> None:
    base = make_script({"ttft": "1s", "gap": "2ms"})
    assert make_script({"ttft": "3ms"}, base) == make_script({"ttft": "3ms", "gap": "2ms"})


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"ttfft": "1s"}, "ttfft"),
        ({"ttft": 50}, "unit"),
        ({"ttft": "soon"}, "soon"),
        ({"tokens": -1}, "tokens"),
        ({"tokens_per_chunk": 0}, "tokens_per_chunk"),
        ({"faults": {"explode": 1}}, "explode"),
        ({"faults": {"reset": 0.7, "cut": 0.7}}, "more than 1"),
        ({"split": 2, "coalesce": 2}, "split and coalesce"),
        ({"role": "later"}, "role"),
    ],
)
def test_mistake_is_named(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ScriptError, match=named):
        make_script(fields)


def test_every_field_is_documented() -> None:
    assert Script.__doc__ is not None
    for name in Script.__struct_fields__:
        assert f"        {name}: " in Script.__doc__, name
