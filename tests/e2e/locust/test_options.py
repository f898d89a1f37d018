"""What is refused on Locust's command line, and that nothing but its own package imports Locust."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import harness
from tests.e2e.locust.conftest import ROOT, finished, locust

_PARSE = """
import sys
import harness.locust
from locust.argument_parser import get_parser

for line in (["--master"], ["--worker"], ["--processes", "2"]):
    try:
        get_parser().parse_args(line)
    except SystemExit as end:
        print(end.code)
parser = get_parser()
print(sorted(parser.secret_args_included_in_web_ui))
assert not parser.parse_args([]).api_key
"""


def test_what_is_not_built_is_refused_by_name_before_locust_forks(tmp_path: Path) -> None:
    """And the key is a secret, of which the page is told nothing that the environment holds."""
    done = subprocess.run(
        [sys.executable, "-c", _PARSE],
        capture_output=True,
        text=True,
        timeout=150,
        check=True,
        cwd=tmp_path,
        env={"OPENAI_API_KEY": "hidden", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert done.stdout.split("\n")[:4] == ["2", "2", "2", "['api_key']"]
    refusals = [line for line in done.stderr.splitlines() if "leave it out" in line]
    assert [
        any(option in line for line in refusals) for option in ("--master", "--worker", "--processes")
    ] == [
        True,
        True,
        True,
    ]


def test_a_run_that_cannot_begin_is_told_in_one_line() -> None:
    process = locust("127.0.0.1:1", ROOT / "scenarios" / "locustfile.py", "--scenario", "smoke")
    output, errors = finished(process)
    assert process.returncode == 2
    assert "tokenpace: http://127.0.0.1:1/v1 can't be used" in errors
    assert "Traceback" not in output + errors


def test_nothing_else_of_the_harness_imports_locust() -> None:
    """It would patch the process: neither locust nor gevent is there once all the rest has been imported."""
    folder = Path(harness.__path__[0])
    for path in folder.rglob("*.py"):
        place = path.relative_to(folder.parent)
        if place.parts[1] != "locust" and place.name not in ("__main__.py", "__init__.py"):
            importlib.import_module(".".join(place.with_suffix("").parts))
    assert {"locust", "gevent"} & set(sys.modules) == set()
