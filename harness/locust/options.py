"""Options that ``harness.locust`` adds to Locust's command line and to the form of its web page."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser

_HEADLESS: Final = {"master": "--master", "processes": "--processes"}


def add_options(parser: LocustArgumentParser, **_: object) -> None:
    """Add them: a listener of ``init_command_line_parser``. Those outside the group are in the form too."""
    parser.add_argument(
        "--scenario", default="", metavar="NAME", help="A file, or one that 'tokenpace scenarios' lists"
    )
    parser.add_argument(
        "--model", default="", metavar="NAME", help="The model's name; by default the only one that is served"
    )
    parser.add_argument(
        "--rate", default="", metavar="R", help="Requests per second, in place of the scenario's (load.rate)"
    )
    parser.add_argument(  # not from the environment: Locust's form would show what it holds
        "--api-key", default="", metavar="KEY", is_secret=True, help="A bearer token; else OPENAI_API_KEY's"
    )
    add = parser.add_argument_group("tokenpace", "How the run is made and judged").add_argument
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="Change a key, such as load.rate=5")
    add("--header", action="append", default=[], metavar="NAME:VALUE", help="Sent with every request")
    add("--ca-file", default="", metavar="FILE", help="Trust these certificates")
    add("--insecure", action="store_true", help="Accept any TLS certificate")
    add("--output", default="", metavar="DIR", help="The result folder, new or empty")
    add("--report", action="append", default=[], metavar="NAME", help="Write only this report")
    add("--baseline", default="", metavar="NAME", help="Compare with this baseline or result folder")
    add("--no-telemetry", action="store_true", help="Don't read the server's own metrics meanwhile")
    add("--no-summary", action="store_true", help="Print no summary of the result")
    _refuse_what_is_not_built(parser)


def _refuse_what_is_not_built(parser: LocustArgumentParser) -> None:
    """Before Locust forks, or waits for workers."""
    parse = parser.parse_args

    @functools.wraps(parse)
    def checked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (argparse's)
        options = parse(*args, **kwargs)
        for name, option in _HEADLESS.items():
            is_asked = getattr(options, name, None) and not getattr(options, "worker", False)
            if is_asked and not getattr(options, "headless", False):
                parser.error(
                    f"{option} without --headless: the pages show a run of one process so far; give "
                    f"--headless, or leave {option} out"
                )
        return options

    parser.parse_args = checked
