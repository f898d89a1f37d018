"""The program of a worker: ``python -m harness.workers FD``, with the connection to the run there."""

from __future__ import annotations

import signal
import socket
import sys


def main() -> None:
    """Work until the load is over, or until the run's process is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the run gets them too, and tells
        signal.signal(number, signal.SIG_IGN)
    connected = socket.socket(fileno=int(sys.argv[1]))

    from harness import event_loop
    from harness.workers.worker import work

    event_loop.run(work(connected))


if __name__ == "__main__":
    main()
