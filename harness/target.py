"""The server under test: its address, and how it wants to be reached."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

import msgspec

from harness.errors import TargetError
from harness.request_headers import headers_for
from harness.secrets import MASK, Secrets, names_secret
from harness.tls import checked, tls_context

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from pathlib import Path

_PORTS: Final = {"http": 80, "https": 443}
_ENDPOINTS: Final = ("/chat/completions", "/completions", "/responses", "/embeddings", "/models")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A server and the way to it. Made by ``Target.parse``.

    Attributes:
        scheme: ``http`` or ``https``.
        host: Name or IP address, IPv6 without brackets.
        port: TCP port.
        base_path: What comes before an endpoint's path: ``/v1``, or empty.
        query: Sent with every request, as given.
        endpoint_path: The endpoint that the address itself names, None if it names none.
        headers: Sent with every request, by name as given; authorisation included.
        verify: Path of a CA file, True for the system's own, False for no check at all.
        proxy: Address of an HTTP proxy, None to go there directly.
        secrets: Masks what must not be shown.
    """

    scheme: str
    host: str
    port: int
    base_path: str
    query: str
    endpoint_path: str | None
    headers: dict[str, str]
    verify: bool | str
    proxy: str | None
    secrets: Secrets

    @classmethod
    def parse(
        cls,
        address: str,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        verify: bool | str | Path = True,
        proxy: str | None = None,
    ) -> Target:
        """Read an address in any common form.

        ``host:port``, ``http://host/``, ``https://host/v1`` and the full address of an endpoint all lead to
        the same place. ``/v1`` is added where the address has no path; any other path is kept. A user and
        password in the address become basic authorisation.

        Args:
            address: The address.
            api_key: Sent as a bearer token unless ``headers`` holds an authorisation.
            headers: Sent with every request.
            verify: A CA file to trust, or False to accept any certificate.
            proxy: ``http://[user:password@]host:port``.

        Raises:
            TargetError: Any of it can't be used. The message doesn't hold the secrets.
        """
        parts = _split(address)
        base_path, endpoint_path = _base_path(parts.path)
        return cls(
            scheme=parts.scheme,
            host=parts.hostname or "",
            port=_port(parts, "address"),
            base_path=base_path,
            query=parts.query,
            endpoint_path=endpoint_path,
            headers=headers_for(parts, api_key, headers or {}),
            verify=checked(verify),
            proxy=_proxy(proxy),
            secrets=Secrets(_secrets(parts, api_key, headers or {}, proxy)),
        )

    def path_of(self, endpoint_path: str) -> str:
        """Path and query of an endpoint, as it stands in a request line.

        Raises:
            TargetError: The address itself names another endpoint.
        """
        if self.endpoint_path not in (None, endpoint_path):
            raise TargetError(
                f"the address ends in {self.endpoint_path} but the scenario's endpoint is {endpoint_path}; "
                "leave the endpoint out of the address or change the scenario's endpoint"
            )
        return self.path_beside(endpoint_path)

    def path_beside(self, path: str) -> str:
        """Path and query of another resource beside the endpoint, such as ``/models``."""
        path = self.base_path + path
        return f"{path}?{self.query}" if self.query else path

    @property
    def authority(self) -> str:
        """Host and port as a Host header wants them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The base address, secrets masked: this may be shown."""
        pairs = parse_qsl(self.query, keep_blank_values=True)
        query = "&".join(f"{name}={MASK if names_secret(name) else value}" for name, value in pairs)
        return f"{self.scheme}://{self.authority}{self.base_path}" + (f"?{query}" if query else "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report must know about the way to the server."""
        insecure = self.scheme == "https" and self.verify is False
        return ("TLS certificates were not checked (insecure)",) if insecure else ()

    def tls_context(self) -> ssl.SSLContext | None:
        """How to speak TLS to it; None for plain HTTP."""
        return tls_context(self.verify) if self.scheme == "https" else None

    def mask(self, text: str) -> str:
        """``text`` without any secret of this target."""
        return self.secrets.mask(text)

    def __repr__(self) -> str:
        return f"Target({self.url!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("url", self.url)]


def _split(address: str) -> SplitResult:
    address = address.strip()
    if _is_ipv6(address):
        address = f"[{address}]"
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError as error:
        raise TargetError(f"the address can't be read ({error}); give one like {_EXAMPLE}") from error
    if parts.scheme not in _PORTS:
        raise TargetError(f"the address begins with '{parts.scheme}://'; give one like {_EXAMPLE}")
    if re.match(r"[^\[]*:[^\[]*:", parts.netloc.rpartition("@")[2]):
        raise TargetError(f"an IPv6 address stands in brackets: {parts.scheme}://[::1]:8000")
    if not host or re.search(r"[\s\x00-\x1f\x7f]", address):
        raise TargetError(f"the address has no host or holds blanks; give one like {_EXAMPLE}")
    return parts


_EXAMPLE: Final = "http://127.0.0.1:8000/v1"


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def _port(parts: SplitResult, what: str) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise TargetError(f"the {what} has no usable port; ports go from 1 to 65535") from error
    if port == 0:
        raise TargetError(f"the {what} has port 0; ports go from 1 to 65535")
    return _PORTS[parts.scheme] if port is None else port


def _base_path(path: str) -> tuple[str, str | None]:
    """The base path and the endpoint that the address names itself."""
    path = quote(path.rstrip("/"), safe="/%:@!$&'()*+,;=~-._")
    for endpoint in _ENDPOINTS:
        if path.endswith(endpoint):
            return path.removesuffix(endpoint), endpoint
    return path or "/v1", None


def _secrets(
    parts: SplitResult, api_key: str | None, headers: Mapping[str, str], proxy: str | None
) -> list[str]:
    found = [api_key, *_login(parts)]
    found += [value for name, value in parse_qsl(parts.query) if names_secret(name)]
    for name, value in headers.items():
        if names_secret(name):
            found += [value, *_parts(value)]
    if proxy:
        found += _login(urlsplit(proxy if "://" in proxy else f"http://{proxy}"))
    return [secret for secret in found if secret]


def _parts(value: str) -> list[str]:
    """The secrets in a header: what follows ``=``, or the last word, in each of its parts."""
    return [re.split(r"[=\s]", part.strip(), maxsplit=1)[-1].strip() for part in re.split("[;,]", value)]


def _login(parts: SplitResult) -> list[str]:
    """The password, and the pair as basic authorisation encodes it."""
    if not parts.password:
        return [unquote(parts.username)] if parts.username else []
    user, password = unquote(parts.username or ""), unquote(parts.password)
    return [password, f"{user}:{password}"]


def _proxy(proxy: str | None) -> str | None:
    if proxy is None:
        return None
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme != "http" or not parts.hostname:
        raise TargetError("the proxy's address can't be used; give one like http://127.0.0.1:3128")
    _port(parts, "proxy's address")
    return parts.geturl()
