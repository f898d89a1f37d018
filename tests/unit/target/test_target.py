"""Addresses in every common form, and secrets that never show."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import TargetError
from harness.secrets import Secrets, names_secret
from harness.target import Target

if TYPE_CHECKING:
    from pathlib import Path

CHAT = "/chat/completions"


@pytest.mark.parametrize(
    "address",
    ["host:8000", "host:8000/", "http://host:8000", "http://host:8000/v1", " http://host:8000/v1/ ",
     "http://host:8000/v1/chat/completions", "http://host:8000/v1/chat/completions/"],
)  # fmt: skip
def test_A8_01_one_place_in_many_forms(address: str) -> None:
    target = Target.parse(address)
    assert (target.scheme, target.host, target.port) == ("http", "host", 8000)
    assert target.path_of(CHAT) == "/v1/chat/completions"
    assert target.url == "http://host:8000/v1"


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("https://host/openai/v1", "/openai/v1/chat/completions"),
        ("https://host/api", "/api/chat/completions"),
        ("http://host/chat/completions", "/chat/completions"),
        ("https://h/deployments/x?api-version=7", "/deployments/x/chat/completions?api-version=7"),
        ("http://host/ä/v1", "/%C3%A4/v1/chat/completions"),
    ],
)
def test_other_base_paths_are_kept(address: str, path: str) -> None:
    assert Target.parse(address).path_of(CHAT) == path


def test_an_address_that_names_another_endpoint() -> None:
    target = Target.parse("http://host/v1/completions")
    assert target.path_of("/completions") == "/v1/completions"
    assert target.path_beside("/models") == "/v1/models"
    with pytest.raises(
        TargetError, match="ends in /completions but the scenario's endpoint is /chat/completions"
    ):
        target.path_of(CHAT)


@pytest.mark.parametrize("address", ["::1", "[::1]", "http://[::1]", "[::1]:80"])
def test_A8_03_ipv6(address: str) -> None:
    target = Target.parse(address)
    assert (target.host, target.port, target.authority) == ("::1", 80, "[::1]")


def test_A8_03_ipv6_with_a_port() -> None:
    target = Target.parse("http://[fe80::1]:8000/v1")
    assert (target.host, target.authority) == ("fe80::1", "[fe80::1]:8000")
    assert target.url == "http://[fe80::1]:8000/v1"


def test_default_ports() -> None:
    assert (Target.parse("https://host").port, Target.parse("host").port) == (443, 80)
    assert (Target.parse("https://host:443").authority, Target.parse("https://host:80").authority) == (
        "host",
        "host:80",
    )


@pytest.mark.parametrize(
    ("address", "words"),
    [("http://::1:8744", "brackets"), ("", "no host"), ("http://", "no host"),
     ("ftp://host", "ftp://"), ("http://host:99999", "port"),
     ("http://host:x", "port"), ("http://host:0", "port 0"), ("http://[::1", "can't be read"),
     ("http://a b/v1", "blanks"), ("http://h\r\nX: y", "blanks")],
)  # fmt: skip
def test_addresses_that_cannot_be_used(address: str, words: str) -> None:
    with pytest.raises(TargetError, match=words):
        Target.parse(address)


def test_the_key_becomes_a_bearer_token() -> None:
    assert Target.parse("h", api_key="sk-1234").headers == {"Authorization": "Bearer sk-1234"}


def test_an_own_authorisation_wins_over_the_key() -> None:
    headers = Target.parse("h", api_key="sk-1234", headers={"authorization": "Token abcd"}).headers
    assert headers == {"authorization": "Token abcd"}


def test_A9_03_login_in_the_address() -> None:
    target = Target.parse("http://user:p%40ss@host/v1?api-key=abc&api-version=7")
    encoded = base64.b64encode(b"user:p@ss").decode()
    assert target.headers == {"Authorization": f"Basic {encoded}"}
    assert target.path_of(CHAT) == "/v1/chat/completions?api-key=abc&api-version=7"
    assert target.url == "http://host/v1?api-key=***&api-version=7"
    shown = f"{target.url} {target!r} {target} {target.__rich_repr__()}"
    for secret in ("p%40ss", "p@ss", encoded, "=abc"):
        assert secret not in shown


@pytest.mark.parametrize("name", ["Authorization", "X-Api-Key", "Cookie", "Proxy-Authorization", "x-secret"])
def test_A9_01_secret_headers_are_masked(name: str) -> None:
    target = Target.parse("h", api_key="sk-key-1", headers={name: "Bearer canary-77; session=canary-88"})
    assert names_secret(name)
    masked = target.mask("server says: canary-77 and canary-88 and sk-key-1 are wrong")
    assert "canary" not in masked
    assert "sk-key-1" not in masked


def test_secrets_are_masked_in_every_form() -> None:
    secrets = Secrets(["pa/ss wörd"])
    forms = [
        "pa/ss wörd",
        "pa%2Fss%20w%C3%B6rd",
        "pa%2Fss+w%C3%B6rd",
        base64.b64encode("pa/ss wörd".encode()).decode(),
    ]
    assert secrets.mask(" | ".join(forms)) == " | ".join(["***"] * 4)


def test_short_secrets_leave_words_whole() -> None:
    assert Secrets(["a"]).mask("a banana") == "a banana"


@pytest.mark.parametrize(
    "headers",
    [{"X": "a\r\nY: b"}, {"X\n": "a"}, {"": "a"}, {"X": "日本"}, {"Host": "x"}, {"Content-Length": "3"}],
)
def test_headers_that_cannot_be_sent(headers: dict[str, str]) -> None:
    with pytest.raises(TargetError, match="header"):
        Target.parse("h", headers=headers)


def test_a_key_that_cannot_be_sent_is_not_shown() -> None:
    with pytest.raises(TargetError) as caught:
        Target.parse("h", api_key="sk-canary\n")
    assert "canary" not in str(caught.value)


def test_ca_files(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("no certificate")
    for path in (tmp_path / "no.pem", tmp_path / "absent.pem"):
        with pytest.raises(TargetError, match="CA file"):
            Target.parse("https://h", verify=path)


def test_A8_05_insecure_is_noted() -> None:
    assert Target.parse("https://h", verify=False).notes
    assert not Target.parse("https://h").notes
    assert not Target.parse("http://h", verify=False).notes


@pytest.mark.parametrize("proxy", ["socks5://p:1080", "https://p:1", "http://", "http://p:0"])
def test_proxies_that_cannot_be_used(proxy: str) -> None:
    with pytest.raises(TargetError, match="proxy"):
        Target.parse("h", proxy=proxy)


def test_a_proxys_password_is_masked() -> None:
    target = Target.parse("h", proxy="user:canary@p:3128")
    assert target.proxy == "http://user:canary@p:3128"
    assert target.mask("407 for user:canary") == "407 for ***"


def test_a_target_cannot_be_changed() -> None:
    fields: dict[str, Any] = {"host": "x"}
    with pytest.raises(AttributeError):
        setattr(Target.parse("h"), *next(iter(fields.items())))
