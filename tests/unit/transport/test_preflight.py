"""The look at the server before the load."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from harness.errors import PreflightError
from harness.preflight import find_model
from harness.target import Target
from scenarios.timeouts import Timeouts
from tests.unit.transport.steps import CLOSE, STALL, sized

if TYPE_CHECKING:
    from tests.unit.transport.conftest import Serve


def models(*names: str) -> bytes:
    return sized(json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode())


def find(port: int, wanted: str | None = None, scheme: str = "http", limit_ns: int = 300_000_000) -> str:
    target = Target.parse(f"{scheme}://127.0.0.1:{port}", api_key="sk-canary")
    timeouts = Timeouts().model_copy(update={"first_token": limit_ns, "total": limit_ns})
    return asyncio.run(find_model(target, timeouts, wanted))


def test_the_only_model(serve: Serve) -> None:
    server = serve(lambda _: [models("smollm2")])
    assert find(server.port) == "smollm2"
    assert server.received[0].head.startswith(b"GET /v1/models HTTP/1.1\r\n")


def test_a_load_with_short_limits_is_no_dead_server(serve: Serve) -> None:
    """The limits are for the requests of the load; a list of models may take longer."""
    server = serve(lambda _: [0.1, models("smollm2")])
    assert find(server.port, limit_ns=1_000_000) == "smollm2"


def test_a_wanted_model(serve: Serve) -> None:
    server = serve(lambda _: [models("a", "b")])
    assert find(server.port, "b") == "b"
    with pytest.raises(PreflightError, match="doesn't serve model 'c'; it serves a, b"):
        find(server.port, "c")


def test_several_models_and_none_named(serve: Serve) -> None:
    server = serve(lambda _: [models("a", "b")])
    with pytest.raises(PreflightError, match="serves a, b; name one"):
        find(server.port)


def reply(status: str, *headers: str, body: bytes = b"") -> bytes:
    lines = (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}")
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            sized(b"<!doctype html><p>Hi"),
            "answers with a page, not a list of models; is this the API's address?",
        ),
        (sized(b"{}"), "answers with something that is no list of models; is this the API's address?"),
        (sized(b""), "answers with nothing, not with a list of models; is this the API's address?"),
        (reply("404 Not Found"), "answers 404, not with a list of models; is this the API's address?"),
        (
            reply("308 Permanent Redirect", "Location: /api/v1/models/"),
            "redirects to {url}/api/v1; give that",
        ),
        (models(), "lists no model; name one (model: or --model)"),
    ],
)
def test_what_is_no_list_is_named_unless_the_model_is(serve: Serve, answer: bytes, said: str) -> None:
    server = serve(lambda _: [answer])
    assert find(server.port, "mine") == "mine"
    with pytest.raises(PreflightError) as caught:
        find(server.port)
    url = f"http://127.0.0.1:{server.port}"
    assert str(caught.value).startswith(f"{url}/v1 {said.format(url=url)}")


@pytest.mark.parametrize("wanted", ["mine", None])
def test_an_api_that_is_at_another_server_is_named_without_secrets(serve: Serve, wanted: str | None) -> None:
    to = "Location: https://me:sk-canary@api.example/x/v1/models?key=sk-canary"
    server = serve(lambda _: [reply("301 Moved Permanently", to)])
    with pytest.raises(
        PreflightError, match=r"/v1 redirects to https://api\.example/x/v1; give that address$"
    ):
        find(server.port, wanted)


@pytest.mark.parametrize("address", ["http://model.invalid", "https://model.invalid"])
def test_a_proxy_that_wants_credentials(serve: Serve, address: str) -> None:
    proxy = serve(lambda _: [reply("407 Proxy Authentication Required")])
    target = Target.parse(address, proxy=f"http://127.0.0.1:{proxy.port}")
    with pytest.raises(PreflightError, match=r"wants credentials: .*http://user:password@host:port$"):
        asyncio.run(find_model(target, Timeouts(), "m"))


def test_a_refusal_without_words(serve: Serve) -> None:
    server = serve(lambda _: [reply("403 Forbidden")])
    with pytest.raises(PreflightError, match="/v1 answers 403; give the right API key"):
        find(server.port, "m")


def test_a_wrong_key(serve: Serve) -> None:
    body = b'{"error": {"message": "bad key sk-canary"}}'
    server = serve(
        lambda _: [b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)]
    )
    with pytest.raises(PreflightError, match=r"401: bad key \*\*\*; give the right API key"):
        find(server.port, "m")


@pytest.mark.parametrize(
    ("steps", "outcome"), [([CLOSE], "reset"), ([STALL], "timeout"), ([b"SSH-2.0\r\n\r\n"], "bad_response")]
)
def test_a_server_that_is_none(serve: Serve, steps: list[bytes | float | str], outcome: str) -> None:
    server = serve(lambda _: steps)
    with pytest.raises(PreflightError, match="is the server running there") as caught:
        find(server.port)
    assert caught.value.outcome == outcome


def test_A8_05_an_untrusted_certificate_fails_before_the_load(serve: Serve) -> None:
    server = serve(lambda _: [models("m")], tls=True)
    with pytest.raises(PreflightError, match=r"certificate isn.t trusted.*CA file") as caught:
        find(server.port, scheme="https")
    assert caught.value.outcome == "tls_error"


def test_a_server_that_still_loads(serve: Serve) -> None:
    """Even where the model is named: its first requests would all be refused."""
    body = b'{"error": {"message": "Loading model", "code": 503}}'
    server = serve(
        lambda _: [b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)]
    )
    with pytest.raises(PreflightError, match="answers 503: Loading model; wait until it is ready"):
        find(server.port, "m")
