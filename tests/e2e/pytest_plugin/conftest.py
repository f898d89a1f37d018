"""A user's project, whose tests run in a process of their own against a timetable server."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.timetable_process import TimetableProcess


class Session(NamedTuple):
    """A session of pytest that is over."""

    code: int
    output: str

    def has(self, *texts: str) -> None:
        """The output holds every one of these texts."""
        missing = [text for text in texts if text not in self.output]
        assert not missing, f"{missing} not in\n{self.output}"


class Project:
    """A folder of tests.

    Args:
        path: Where it is.
        server: The address of the server under test.
    """

    def __init__(self, path: Path, server: str) -> None:
        self.path = path
        self.server = server

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        (self.path / name).write_text(textwrap.dedent(text))

    def pytest(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Session:
        """Run pytest there, as a user does: with every plugin that is installed, and a warning no error."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLA_", "OPENAI_", "PYTEST_", "COV_"))
        }
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.path,
            env={**kept, "SLA_ENDPOINT": self.server, "COLUMNS": "120", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=110,
            check=False,
        )
        return Session(done.returncode, done.stdout)

    def junit(self, name: str = "sla.xml") -> ET.Element:
        """The JUnit file."""
        return ET.parse(self.path / name).getroot()


@pytest.fixture
def project(tmp_path: Path, timetable: TimetableProcess) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    made = Project(folder, timetable.url)
    made.write("pytest.ini", "[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return made
