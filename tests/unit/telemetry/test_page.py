"""Getting the page: bounded, and secrets for the server alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.replay_server import Ending, Replay, ReplayServer, after, head, whole

from harness.target import Target
from harness.telemetry import page as pages
from harness.telemetry.page import PageClient, PageError

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "sk-canary-4711"


def redirect(to: str) -> Replay:
    return whole(b"", "307 Temporary Redirect", "text/plain", f"Location: {to}")


@pytest.fixture
def get(replay_server: ReplayServer) -> Callable[..., str]:
    """Gets ``/metrics`` of the replay server with a key."""

    def got(*replays: Replay) -> str:
        replay_server.play(*replays)
        target = Target.parse(f"{replay_server.url}/v1?api-key={KEY}", api_key=KEY, headers={"X-Extra": "é"})
        with PageClient(target) as client:
            return client.get("/metrics")

    return got


def test_headers_and_query_of_the_target_are_sent(
    get: Callable[..., str], replay_server: ReplayServer
) -> None:
    assert get(whole(b"up 1\n")) == "up 1\n"
    received = replay_server.received[0].head.decode("latin-1")
    assert received.startswith(f"GET /metrics?api-key={KEY} HTTP/1.1\r\n")
    assert f"Bearer {KEY}" in received
    assert "é" in received


@pytest.mark.parametrize(
    ("address", "paths"),
    [
        ("http://h", ("/metrics",)),
        ("http://h/v1", ("/metrics",)),
        ("http://h/v1/chat/completions", ("/metrics",)),
        ("http://h/team/v1", ("/team/metrics", "/metrics")),
        ("http://h/api", ("/api/metrics", "/metrics")),
    ],
)
def test_where_a_page_may_be(address: str, paths: tuple[str, ...]) -> None:
    with PageClient(Target.parse(address)) as client:
        assert client.paths("/metrics") == paths


def test_a_redirect_within_the_server_is_followed(
    get: Callable[..., str], replay_server: ReplayServer
) -> None:
    assert get(redirect("/metrics/"), whole(b"up 1")) == "up 1"
    assert replay_server.received[1].head.startswith(b"GET /metrics/ ")


def test_a_redirect_to_another_server_is_not_followed(get: Callable[..., str]) -> None:
    with ReplayServer() as other:
        with pytest.raises(PageError, match="redirects to another server"):
            get(redirect(f"{other.url}/metrics"))
        assert other.received == []


@pytest.mark.parametrize(
    ("replay", "message"),
    [
        (whole(b"no", "404 Not Found"), "answers 404"),
        (whole(b"no", "401 Unauthorized"), "answers 401"),
        (redirect("/metrics"), "redirects without end"),
        (whole(b"x", "200 OK", "text/plain", "Content-Encoding: gzip"), "compressed"),
        (Replay(b"SSH-2.0-OpenSSH\r\n"), "can't be read"),
        (Replay(b""), "can't be read"),
    ],
)
def test_what_is_no_page_is_one_message_without_secrets(
    get: Callable[..., str], replay: Replay, message: str
) -> None:
    with pytest.raises(PageError, match=message) as caught:
        get(replay)
    assert "/metrics" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_huge_page_is_left(get: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_BYTES", 100_000)
    with pytest.raises(PageError, match="larger than"):
        get(whole(b"x 1\n" * 100_000))


def test_a_silent_server_is_left(get: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STEP_TIMEOUT_S", 0.1)
    with pytest.raises(PageError, match="doesn't answer in time") as caught:
        get(Replay(b"", ending=Ending.STALL))
    assert caught.value.unreachable


def test_a_page_that_drips_is_left(get: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte comes in time, but the whole never does."""
    monkeypatch.setattr(pages, "TOTAL_TIMEOUT_S", 0.3)
    begun_s = time.monotonic()
    with pytest.raises(PageError, match="doesn't answer in time"):
        get(Replay(head(), after(0.05, [b"x"] * 400)))
    assert time.monotonic() - begun_s < 10


def test_nobody_there() -> None:
    with PageClient(Target.parse("http://127.0.0.1:9")) as client, pytest.raises(PageError) as caught:
        client.get("/metrics")
    assert caught.value.unreachable
