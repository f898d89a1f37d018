"""Chat templates: the dialect, the sandbox, and refusals that a client can be told."""

from __future__ import annotations

import contextlib
import re
from datetime import datetime
from typing import Any

import pytest

from reference_server.text.chat_template import ChatTemplate, ChatTemplateError
from reference_server.text.load import load_text

USER = {"role": "user", "content": "Hi"}
STRICT = """{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles must alternate user/assistant') }}{% endif %}{{ m.content }}|{% endfor %}"""


def render(source: str, *messages: dict[str, Any], **options: Any) -> str:
    return ChatTemplate(source, {"eos_token": "</s>"}).render(messages or [USER], **options)


def test_blocks_leave_no_lines() -> None:
    assert (
        render("{% for m in messages %}\n  {% if true %}\n{{ m.content }}\n  {% endif %}\n{% endfor %}")
        == "Hi\n"
    )


def test_special_tokens_and_own_variables() -> None:
    assert render("{{ eos_token }}{{ mood }}{{ tools is none }}", mood="calm") == "</s>calmTrue"


def test_tojson_is_plain_json() -> None:
    """Without jinja's escaping of HTML, and with letters as they are."""
    assert render("{{ messages | tojson }}", {"role": "user", "content": "<é>'"}) == (
        '[{"role": "user", "content": "<é>\'"}]'
    )
    assert render("{{ {'b': 1, 'a': 2} | tojson(indent=1, sort_keys=true) }}") == '{\n "a": 2,\n "b": 1\n}'


def test_date_and_loop_controls_and_generation_tag() -> None:
    source = (
        "{{ strftime_now('%Y') }}{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}"
    )
    assert render(source, USER, USER) == f"{datetime.now().year}Hi"  # noqa: DTZ005  # the template means the same


def test_continue_final_message_ends_inside_it() -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    begun = {"role": "assistant", "content": "Well, "}
    options = {"add_generation_prompt": False, "continue_final_message": True}
    assert render(source, USER, begun, **options) == "<user>Hi</><assistant>Well, "
    stripped = "{% for m in messages %}{{ m.content | trim }};{% endfor %}"
    assert render(stripped, USER, begun, **options) == "Hi;Well,"
    with pytest.raises(ChatTemplateError, match="exclude each other"):
        render(source, begun, add_generation_prompt=True, continue_final_message=True)
    with pytest.raises(ChatTemplateError, match="needs a last message"):
        render(source, {"role": "assistant", "content": None}, **options)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''.__class__ }}",
        "{{ messages.append(1) }}",
        "{{ raise_exception.__globals__ }}",
    ],
)
def test_the_sandbox_holds(source: str) -> None:
    """A template is part of a file from elsewhere: it reaches nothing and changes nothing."""
    messages = [dict(USER)]
    with contextlib.suppress(ChatTemplateError):
        assert render(source, *messages) == ""
    assert messages == [USER]


def test_a_broken_template_is_told_when_it_is_loaded() -> None:
    with pytest.raises(ChatTemplateError, match="line 2"):
        ChatTemplate("a\n{% if %}")


def test_C6_05_two_user_turns() -> None:
    with pytest.raises(ChatTemplateError, match=re.escape("Roles must alternate user/assistant")):
        render(STRICT, USER, USER)


def test_C6_05_system_only() -> None:
    with pytest.raises(ChatTemplateError, match="Roles must alternate"):
        render(STRICT, {"role": "system", "content": "x"})


def test_C6_05_content_null_where_the_template_needs_text() -> None:
    with pytest.raises(ChatTemplateError, match="can't write these messages"):
        render("{% for m in messages %}{{ 'a' + m.content }}{% endfor %}", {"role": "user", "content": None})


def test_C6_05_content_missing() -> None:
    with pytest.raises(ChatTemplateError, match="content"):
        render("{% for m in messages %}{{ 'a' + m.content }}{% endfor %}", {"role": "user"})


def test_C6_05_content_null_where_the_template_allows_it() -> None:
    assert render("{{ messages[0].content is none }}", {"role": "assistant", "content": None}) == "True"


def test_C6_05_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert render("{{ messages[0].content }}", {"role": "user", "content": parts}) == "a\nb"


@pytest.mark.parametrize(
    "part", [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text"}, 7, {"text": "a"}, None]
)
def test_C6_05_other_parts_are_refused(part: Any) -> None:
    with pytest.raises(ChatTemplateError, match="send text"):
        render("{{ messages }}", {"role": "user", "content": [part]})


def test_C6_05_unknown_role() -> None:
    template = load_text("tiny-random")[1]
    assert template is not None
    with pytest.raises(ChatTemplateError, match="unknown role 'wizard'"):
        template.render([{"role": "wizard", "content": "x"}])


def test_C6_05_a_message_of_endless_length_is_no_message() -> None:
    """The name of a part's type is cut in the message: a refusal never echoes the request."""
    with pytest.raises(ChatTemplateError) as refusal:
        render("", {"role": "user", "content": [{"type": "x" * 10_000}]})
    assert len(str(refusal.value)) < 200


def test_tiny_random_writes_plain_text() -> None:
    template = load_text("tiny-random")[1]
    assert template is not None
    assert (
        template.render([USER, {"role": "assistant", "content": "Yo"}])
        == "user: Hi\nassistant: Yo\nassistant: "
    )
