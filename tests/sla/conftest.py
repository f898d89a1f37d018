"""The server that the SLA tests are about: the one at ``--sla-endpoint``, else ours with the real model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from harness.own_server import serving
from harness.pytest.settings import value_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_OF_THE_SERVER = ("SLA_ENDPOINT", "SLA_MODEL", "SLA_API_KEY")


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
    with serving("smollm2-135m") as address:
        yield address
