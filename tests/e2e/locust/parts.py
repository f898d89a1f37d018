"""Run as a program by ``test_options``: what can only be tried where Locust has patched the process."""

from __future__ import annotations

import sys
import threading
from argparse import Namespace

import gevent
from locust.argument_parser import get_parser

import harness.locust  # noqa: F401 (patches and plugs in)
from harness import native
from harness.embedding import Embedding
from harness.locust import engine as engines
from harness.locust.mailbox import Mailbox
from harness.locust.order import order_of


def refused(*line: str) -> object:
    """The exit code of a command line."""
    try:
        return get_parser().parse_args(line)
    except SystemExit as end:
        return end.code


def say(what: str) -> None:
    """A line for the test."""
    sys.stdout.write(what + "\n")


say(f"refused: {[refused('--master'), refused('--processes', '2')]}")
headless = (("--master", "--headless"), ("--processes", "2", "--headless"), ("--worker",))
say(f"taken: {all(isinstance(refused(*line), Namespace) for line in headless)}")
parser = get_parser()
options = parser.parse_args([])
say(f"secret: {sorted(parser.secret_args_included_in_web_ui)} {options.api_key!r}")

idents: list[int] = []
box: list[int] = []
letters = Mailbox[int](lambda letter: (gevent.sleep(0.0001), box.append(letter)))
go_on = native.new_event()


def work() -> None:
    """Wait for the main thread's greenlets, which go on meanwhile only if this is a real thread."""
    idents.append(threading.get_ident())
    go_on.wait(30)
    for letter in range(100):
        letters.put(letter)


thread = native.new_thread(work, "work")
thread.start()
while not idents:
    gevent.sleep(0.01)
say(f"threads: {idents != [threading.get_ident()]} {thread.is_alive()}")
go_on.set()
thread.join()
letters.close()
say(f"letters: {box}")

order = order_of(Namespace(**{**vars(options), "host": None}), "127.0.0.1:1", own_load=False)
engine = engines.Engine(order, Embedding())
engines.prepare = lambda: gevent.sleep(60)
starting = gevent.spawn(engine.start)
gevent.sleep(0.01)
starting.kill()
engine.wait()
say(f"stopped: {type(engine.error).__name__}")
