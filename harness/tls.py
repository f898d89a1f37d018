"""How TLS is spoken to a server, and which certificates are believed."""

from __future__ import annotations

import functools
import ssl
from typing import TYPE_CHECKING

from harness.errors import TargetError

if TYPE_CHECKING:
    from pathlib import Path


def checked(verify: bool | str | Path) -> bool | str:
    """``verify`` as text, once its file is known to be usable.

    Raises:
        TargetError: It isn't.
    """
    if isinstance(verify, bool):
        return verify
    tls_context(str(verify))
    return str(verify)


@functools.cache
def tls_context(verify: bool | str) -> ssl.SSLContext:
    """One context for all connections, so that sessions and the parsed CA file are shared.

    Args:
        verify: Path of a CA file, True for the system's own, False for no check at all.

    Raises:
        TargetError: The file can't be used.
    """
    try:
        context = ssl.create_default_context(cafile=verify if isinstance(verify, str) else None)
    except (OSError, ssl.SSLError) as error:
        raise TargetError(
            f"CA file {verify} can't be used ({error}); give a file of PEM certificates"
        ) from error
    if verify is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context
