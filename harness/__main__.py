"""The command ``tokenpace``, also as ``python -m harness``: nothing but the net under what it imports."""

import contextlib
import signal
import sys
from types import FrameType
from typing import Any

_AGAIN_S = 0.01
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(SystemExit):
    """SIGTERM or SIGHUP came while no run was there to take it."""


def main() -> None:
    """Entry point: ``harness.cli.main``, of which a Ctrl-C while it is imported makes no traceback.

    While load is sent SIGTERM and SIGHUP end the run in order; else they are told in a line.
    """
    sys.unraisablehook = _on_unraisable
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is signal.SIG_DFL:
            signal.signal(number, _on_signal)
    try:
        from harness.cli import main as run

        run()
    except Terminated as terminated:
        name = signal.Signals(int(terminated.code or 0) - 128).name
        with contextlib.suppress(OSError):  # SIGHUP may have taken the terminal
            sys.stderr.write(f"tokenpace: ended by {name} while no load was being sent\n")
        raise
    except KeyboardInterrupt:
        sys.stderr.write("tokenpace: interrupted\n")
        sys.exit(130)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _on_signal(number: int, _: FrameType | None) -> None:
    raise Terminated(128 + number)


def _on_sigterm_again(_number: int, frame: FrameType | None) -> None:
    _on_signal(signal.SIGTERM, frame)


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
