"""The form of JUnit files that Jenkins accepts (its schema ``junit-10``), as far as files of pytest go.

Properties stand in ``testsuite`` and nowhere else: a viewer that checks refuses them in ``testcase``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element


class Form(NamedTuple):
    """What an element may hold; lists of names parted by blanks.

    Attributes:
        children: Elements.
        required: Attributes that must be there.
        optional: Attributes that may.
        text: Whether it may hold text.
    """

    children: str = ""
    required: str = ""
    optional: str = ""
    text: bool = False


_MESSAGE = Form(optional="type message", text=True)
FORMS = {
    "testsuites": Form("testsuite", optional="name time tests failures errors"),
    "testsuite": Form(
        "testsuite properties testcase system-out system-err",
        required="name tests failures errors",
        optional="group time skipped timestamp hostname id package file log url version",
    ),
    "properties": Form("property"),
    "property": Form(required="name value"),
    "testcase": Form(
        "skipped error failure system-out system-err", required="name", optional="time classname group"
    ),
    "failure": _MESSAGE,
    "error": _MESSAGE,
    "skipped": _MESSAGE,
    "system-out": Form(text=True),
    "system-err": Form(text=True),
}
_TIME = re.compile(r"\d{0,3}(,\d{3})*(\.\d{0,3})?")


def faults(element: Element) -> Iterator[str]:
    """What the schema would refuse."""
    form = FORMS.get(element.tag)
    if form is None:
        yield f"unknown element {element.tag}"
        return
    required, optional = form.required.split(), form.optional.split()
    yield from (f"{element.tag} lacks {name}" for name in required if name not in element.attrib)
    for name in element.attrib:
        if name not in (*required, *optional):
            yield f"{element.tag} has an attribute {name}"
    if element.tag.startswith("testsuite") and not _TIME.fullmatch(element.get("time", "")):
        yield f"{element.tag} has the time {element.get('time')}"
    if not form.text and (element.text or "").strip():
        yield f"{element.tag} holds text"
    for child in element:
        if child.tag not in form.children.split():
            yield f"{element.tag} holds {child.tag}"
        yield from faults(child)
