"""What all pages of HTML have in common: shell, macros, style, script, and how text gets into them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from reports.formats.html.embed import csp_hash, json_for_script
from reports.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reports.formats.html.chart import Chart

_SHARED: Final = ("shell.html.j2", "macros.html.j2")
SIGNS: Final = {"PASS": "✓", "FAIL": "✕", "INCONCLUSIVE": "?", "INVALID": "⊘"}
LEGEND_SAMPLES: Final = {  # the legend's strokes, 20 by 10
    "line": "M1 5H19",
    "thin": "M1 5H19",
    "dash": "M1 5H19",
    "area": "M1 0H19V10H1Z",
    "bars": "M6 10V1H14V10Z",
    "dots": "M10 5h0",
    "rug": "M10 1V9",
    "targets": "M3 5H17",
}


class Document(Protocol):
    """What a page is of."""

    @property
    def tool_version(self) -> str:
        """Of tokenpace."""

    @property
    def schema_version(self) -> int:
        """Of the document."""


def page(package: str, template: str, document: Document, charts: Iterable[Chart], **words: Any) -> str:  # noqa: ANN401 (anything that is shown)
    """A whole page: a template that fills the blocks of ``shell.html.j2``.

    Args:
        package: Where the template lies.
        template: Name of its file. It gets ``document`` and ``words``.
        document: What the page is of.
        charts: Those that the script reads out.
        words: What the template shows.
    """
    script = own_file(__package__, "steering.js") + own_file(__package__, "script.js")
    rendered: str = (
        _environment(package)
        .get_template(template)
        .render(
            **words,
            document=document,
            style=_trusted(own_file(__package__, "style.css")),
            script=_trusted(script),
            script_hash=csp_hash(script),
            data=json_for_script({"charts": {chart.name: chart.read_out() for chart in charts}}),
        )
    )
    return rendered


def own_file(package: str, name: str) -> str:
    """The text of a file of a package of ours."""
    return (files(package) / name).read_text("utf-8")


def _environment(package: str) -> Environment:
    def source(name: str) -> str:
        return own_file(__package__ if name in _SHARED else package, name)

    environment = Environment(autoescape=True, finalize=_finalize, loader=FunctionLoader(source))
    environment.filters["slug"] = lambda word: str(word).lower().replace(" ", "-")
    environment.globals.update(signs=SIGNS, samples_of_shapes=LEGEND_SAMPLES)
    return environment


def _finalize(value: object) -> object:
    """Control characters can't be shown, and some end the document for strict readers."""
    return printable(value) if type(value) is str else value


def _trusted(text: str) -> Markup:
    return Markup(text)  # noqa: S704 (a file of this package)
