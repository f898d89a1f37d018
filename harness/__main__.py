"""The command ``tokenpace``, also as ``python -m harness``: nothing but the net under what it imports."""

import signal
import sys
from types import FrameType
from typing import Any

_AGAIN_S = 0.01


class Terminated(SystemExit):
    """SIGTERM came while no run was there to take it."""


def main() -> None:
    """Entry point: ``harness.cli.main``, of which a Ctrl-C while it is imported makes no traceback.

    While load is sent SIGTERM ends the run in order; before that and between runs it is told in a line.
    """
    sys.unraisablehook = _on_unraisable
    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)
    try:
        from harness.cli import main as run

        run()
    except Terminated:
        sys.stderr.write("tokenpace: ended by SIGTERM while no load was being sent\n")
        raise
    except KeyboardInterrupt:
        sys.stderr.write("tokenpace: interrupted\n")
        sys.exit(130)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGTERM, before)


def _on_sigterm(number: int, _: FrameType | None) -> None:
    raise Terminated(128 + number)


def _on_sigterm_again(_number: int, frame: FrameType | None) -> None:
    _on_sigterm(signal.SIGTERM, frame)


def _on_unraisable(unraisable: Any) -> None:  # noqa: ANN401 (a type that only checkers know)
    """A signal that fell into a callback of the interpreter, of which imports have many, comes again."""
    if unraisable.exc_type not in (KeyboardInterrupt, Terminated):
        sys.__unraisablehook__(unraisable)
        return
    again = signal.default_int_handler if unraisable.exc_type is KeyboardInterrupt else _on_sigterm_again
    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)


if __name__ == "__main__":
    main()
