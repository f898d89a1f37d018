"""Gets the page of metrics: bounded in time and size, and with secrets for the server's own origin only."""

from __future__ import annotations

import re
import ssl
import time
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urljoin, urlsplit

import httpx

from harness.errors import HarnessError
from harness.wire.error_text import one_line

if TYPE_CHECKING:
    from types import TracebackType

    from harness.target import Target

STEP_TIMEOUT_S: Final = 1.0
TOTAL_TIMEOUT_S: Final = 2.0
MAX_BYTES: Final = 8 * 1024 * 1024
_MAX_REDIRECTS: Final = 3
_VERSION: Final = re.compile(r"/v\d+$")


class PageError(HarnessError):
    """The page can't be had.

    Attributes:
        unreachable: True where nothing answers, so that there is no use in asking for another page.
        may_pass: True where it may be had later: nothing answers, or the server says that it can't just now.
    """

    def __init__(self, message: str, *, unreachable: bool = False, may_pass: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable
        self.may_pass = may_pass or unreachable


class PageClient:
    """Asks one server. To be used by one thread.

    Redirects are followed within the server's origin and not beyond: the key goes nowhere else.

    Args:
        target: The server.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._origin = f"{target.scheme}://{target.authority}"
        self._client = httpx.Client(
            headers=_headers(target),
            verify=target.tls_context() or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            proxy=target.proxy,
            timeout=STEP_TIMEOUT_S,
            trust_env=False,
        )

    def paths(self, page: str) -> tuple[str, ...]:
        """Where a page may be: beside the base path without its ``/v1``, and at the server's root."""
        base = _VERSION.sub("", self._target.base_path)
        return tuple(dict.fromkeys((f"{base}{page}", page)))

    def url(self, path: str) -> str:
        """The address of a page; it may be shown."""
        return self._target.mask(f"{self._origin}{path}")

    def get(self, path: str) -> str:
        """The page at that path.

        Raises:
            PageError: Nothing answers in time, or it isn't a page.
        """
        query = f"?{self._target.query}" if self._target.query else ""
        try:
            return self._follow(f"{self._origin}{path}{query}")
        except PageError as error:
            message = f"{self.url(path)} {error}"
            raise PageError(message, unreachable=error.unreachable, may_pass=error.may_pass) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise PageError(f"{self.url(path)} {self._words(error)}", unreachable=True) from error

    def _follow(self, url: str) -> str:
        deadline_s = time.monotonic() + TOTAL_TIMEOUT_S
        for _ in range(_MAX_REDIRECTS + 1):
            with self._client.stream("GET", url) as response:
                if not response.has_redirect_location:
                    return _text(response, deadline_s)
                url = self._within(urljoin(url, response.headers["location"]))
        raise PageError("redirects without end")

    def _within(self, url: str) -> str:
        there, here = urlsplit(url), urlsplit(self._origin)
        if (there.scheme, there.netloc) != (here.scheme, here.netloc):
            raise PageError("redirects to another server, which is not asked")
        return url

    def _words(self, error: Exception) -> str:
        if isinstance(error, httpx.TimeoutException):
            return "doesn't answer in time"
        return f"can't be read ({one_line(self._target.mask(str(error))) or type(error).__name__})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()


def _headers(target: Target) -> dict[bytes, bytes]:
    headers = {"Accept": "text/plain", **target.headers, "Accept-Encoding": "identity"}
    return {name.encode("latin-1"): value.encode("latin-1") for name, value in headers.items()}


def _text(response: httpx.Response, deadline_s: float) -> str:
    if response.status_code != httpx.codes.OK:
        may_pass = response.is_server_error or response.status_code == httpx.codes.TOO_MANY_REQUESTS
        raise PageError(f"answers {response.status_code}", may_pass=may_pass)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise PageError("answers compressed, which was not asked for")
    body = bytearray()
    for piece in response.iter_raw():
        body += piece
        if len(body) > MAX_BYTES:
            raise PageError(f"is larger than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > deadline_s:
            raise PageError("doesn't answer in time", unreachable=True)
    return body.decode("utf-8", "replace")
