"""How a server under test was asked for: what a process needs to reach it by itself."""

from __future__ import annotations

import msgspec

from harness.target import Target


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of ``Target.parse``, as a value that can be sent to another process.

    It may hold secrets, and is never shown or written down.
    """

    base_url: str
    api_key: str | None
    headers: dict[str, str]
    verify: bool | str
    proxy: str | None

    def target(self) -> Target:
        """The server, and the way to it.

        Raises:
            TargetError: Any of it can't be used. The message doesn't hold the secrets.
        """
        return Target.parse(
            self.base_url,
            api_key=self.api_key,
            headers=self.headers,
            verify=self.verify,
            proxy=self.proxy,
        )

    def __repr__(self) -> str:
        return "Address(...)"
