"""The server that the SLA tests are about: the one at ``--sla-endpoint``, else ours with the real model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from harness.pytest.settings import value_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_OF_THE_SERVER = ("SLA_ENDPOINT", "SLA_MODEL", "SLA_API_KEY")
_READY_WITHIN_S = 120
_ADDRESS = re.compile(r"http://[\w.:\[\]]+")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """The environment may name the server; a baseline or a choice made for other tests is none of ours."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("SLA_") and name not in _OF_THE_SERVER:
                patch.delenv(name)
        return (yield)


@pytest.fixture(scope="session")
def sla_endpoint(pytestconfig: pytest.Config) -> Iterator[str]:
    """The address under test."""
    given = value_of(pytestconfig, "endpoint")
    if given is not None:
        yield given
        return
    command = [sys.executable, "-m", "reference_server", "serve", "smollm2-135m", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as server:
        too_late = threading.Timer(_READY_WITHIN_S, server.kill)
        too_late.start()
        try:
            yield _address(server)
        finally:
            too_late.cancel()
            server.terminate()
            server.wait(30)


def _address(server: subprocess.Popen[str]) -> str:
    """Where it listens, as it says when it is ready; from then on its output is read and dropped."""
    assert server.stdout is not None
    said = []
    for line in server.stdout:
        said.append(line)
        if match := _ADDRESS.search(line):
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return match[0]
    pytest.fail("the server did not start:\n" + "".join(said), pytrace=False)
