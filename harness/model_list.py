"""A server's answer to the question for its models: the list in it, or what it is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

import msgspec

from harness.errors import PreflightError
from harness.wire.error_text import error_text, one_line

if TYPE_CHECKING:
    from harness.target import Target
    from harness.timeline import Timeline

PATH: Final = "/models"
_NAME_IT: Final = "name one (model: or --model)"


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


class ModelList(NamedTuple):
    """A whole reply to ``GET /models``.

    Attributes:
        target: Who was asked.
        status: Of the reply.
        body: Its bytes.
        location: Where it redirects to, as the server wrote it; None where it doesn't.
    """

    target: Target
    status: int
    body: bytes
    location: str | None

    @classmethod
    def of(cls, target: Target, reply: Timeline) -> ModelList:
        """The answer that a reply bears which has come to its end."""
        status = reply.status or 0
        location = reply.headers.get("location") if 300 <= status < 400 else None
        return cls(target, status, b"".join(reply.reads), location)

    def names(self) -> list[str] | None:
        """The models' names; None where this is no list of models."""
        try:
            return [model.id for model in msgspec.json.decode(self.body, type=_Models).data]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def demand_usable(self) -> None:
        """Refuse an answer after which no request would be answered better.

        Raises:
            PreflightError: The server, or the proxy before it, wants other credentials, isn't ready, or the
                API is at another server.
        """
        if self.status == 407:
            raise self._error("the proxy wants credentials: --proxy http://user:password@host:port")
        if self.status in (401, 403):
            raise self._error(f"{self._answer}; give the right API key")
        if self.status >= 500 and self.status != 501:
            raise self._error(f"{self._answer}; wait until it is ready, then try again")
        own_server = f"{self.target.scheme}://{self.target.authority}/"
        if self.location is not None and not self._address.startswith(own_server):
            raise self._error(self._redirect)

    def model(self) -> str:
        """The only one listed.

        Raises:
            PreflightError: There isn't exactly one, or this is no list.
        """
        names = self.names()
        if names is None:
            raise self._error(self._instead, "bad_response")
        if not names:
            raise self._error(f"lists no model; {_NAME_IT}", "bad_response")
        if len(names) > 1:
            raise self._error(f"serves {', '.join(names)}; {_NAME_IT}", "bad_response")
        return names[0]

    def demand(self, model: str) -> None:
        """See that the model is listed, if any is.

        Raises:
            PreflightError: Others are.
        """
        if (names := self.names()) and model not in names:
            raise self._error(f"doesn't serve model '{model}'; it serves {', '.join(names)}")

    @property
    def _answer(self) -> str:
        said = one_line(self.target.mask(error_text(self.body)))
        return f"answers {self.status}: {said}" if said else f"answers {self.status}"

    @property
    def _address(self) -> str:
        """Where it redirects to, as the API's address; without what may be secret in it."""
        target = self.target
        here = f"{target.scheme}://{target.authority}{target.base_path}{PATH}"
        parts = urlsplit(urljoin(here, self.location))
        host, path = parts.netloc.rpartition("@")[2], parts.path.rstrip("/").removesuffix(PATH)
        return one_line(target.mask(f"{parts.scheme}://{host}{path or '/'}"))

    @property
    def _redirect(self) -> str:
        return f"redirects to {self._address}; give that address"

    @property
    def _instead(self) -> str:
        """What came in place of a list, and the remedy."""
        if self.location is not None:
            return self._redirect
        if self.status >= 300:
            what = f"{self._answer}, not with a list of models"
        elif not self.body.strip():
            what = "answers with nothing, not with a list of models"
        elif self.body.lstrip().startswith(b"<"):
            what = "answers with a page, not a list of models"
        else:
            what = "answers with something that is no list of models"
        return f"{what}; is this the API's address? If it is, name the model (model: or --model)"

    def _error(self, text: str, outcome: str = "http_error") -> PreflightError:
        return PreflightError(f"{self.target.url} {text}", outcome)
