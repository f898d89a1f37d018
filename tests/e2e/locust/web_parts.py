"""Run as a program by ``test_web``: Locust's web UI with ours in it, asked by Flask's test client.

The arguments are the addresses of a server that answers and of one that fails, a scenario and a folder. What
was seen is written there as ``seen.json``.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gevent
from flask_login import UserMixin
from locust.argument_parser import get_parser
from locust.env import Environment
from locust.event import Events

from harness.locust.plugin import plug_in
from scenarios.locustfile import Scenario

if TYPE_CHECKING:
    from flask.testing import FlaskClient

GOOD, BAD, SCENARIO, FOLDER = sys.argv[1:]
PATIENCE_S = 120.0
seen: dict[str, Any] = {}


class Web:
    """One environment with a web UI."""

    def __init__(self, url: str, *options: str, base: str = "", login: bool = False) -> None:
        parsed, events = get_parser().parse_args(["--host", url, *options]), Events()
        plug_in(events)
        self.base = base
        self.environment = Environment(
            user_classes=[Scenario], events=events, host=url, parsed_options=parsed
        )
        runner = self.environment.create_local_runner()
        web_ui = self.environment.create_web_ui(
            web_base_path=base or None, web_login=login, delayed_start=True
        )
        events.init.fire(environment=self.environment, runner=runner, web_ui=web_ui)
        assert web_ui.app is not None
        self.app = web_ui.app
        self.web_ui = web_ui
        self.client: FlaskClient = self.app.test_client()

    def get(self, path: str, **options: Any) -> Any:
        """A reply below the base path."""
        return self.client.get(f"{self.base}/{path}", **options)

    def post(self, path: str, **fields: Any) -> Any:
        """The same for a form."""
        return self.client.post(f"{self.base}/{path}", data=fields)

    def live(self) -> Any:
        """What the page shows."""
        return self.get("tokenpace/live.json").get_json()

    def start(self, **fields: Any) -> None:
        """As the form does."""
        self.post("swarm", user_count=1, spawn_rate=1, **fields)

    def wait_for(self, *states: str) -> Any:
        """What the page shows once it is in one of these states."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.live())["state"] not in states:
            if time.monotonic() > deadline:
                raise AssertionError(found)
            gevent.sleep(0.05)
        return found

    def wait_for_stop(self) -> None:
        """Until Locust knows too that the test is over."""
        runner = self.environment.runner
        assert runner is not None
        while runner.state not in ("stopped", "ready"):
            gevent.sleep(0.05)


def reply(answer: Any) -> dict[str, Any]:
    """Status, headers and body of a reply, as JSON can hold them."""
    return {
        "status": answer.status_code,
        "headers": dict(answer.headers),
        "body": answer.get_data(as_text=True),
    }


def run_to_its_end(web: Web) -> None:
    """A run of few requests: before, after, and reset."""
    seen["idle"] = web.live()
    seen["page"] = reply(web.get("tokenpace/", headers={"Origin": "http://elsewhere"}))
    seen["script"], seen["style"] = reply(web.get("tokenpace/page.js")), reply(web.get("tokenpace/page.css"))
    seen["index"] = web.get("").get_data(as_text=True)
    seen["no files"] = [web.get(f"tokenpace/files/{each}").status_code for each in ("report.html", "nothing")]
    web.start(rate="50")
    seen["ended"] = web.wait_for("ended")
    web.wait_for_stop()
    seen["statistics"] = web.get("stats/requests").get_json()
    seen["csv"] = reply(web.get("tokenpace/metrics.csv"))
    seen["locust csv"] = web.get("stats/requests/csv").get_data(as_text=True)
    seen["locust report"] = web.get("stats/report").get_data(as_text=True)
    names = ("report.html", "histograms.hlog", "journal.jsonl", "result.json", "manifest.json", "..%2Fx")
    seen["files"] = {each: reply(web.get(f"tokenpace/files/{each}")) for each in names}
    seen["reset"] = reply(web.post("stats/reset"))
    seen["after reset"] = web.live()
    seen["requests after reset"] = [row.num_requests for row in web.environment.stats.entries.values()]


def stop_half_way(web: Web) -> None:
    """A run that would go on for ever: meanwhile, and when it has been stopped."""
    web.start()
    seen["running"] = web.wait_for("running")
    seen["reset meanwhile"] = reply(web.post("stats/reset"))
    seen["remark"] = web.live()["remark"]
    while not web.live()["metrics"]:
        gevent.sleep(0.05)
    web.post("stop")
    seen["stopped"] = web.wait_for("ended")


good = Web(GOOD, "--scenario", SCENARIO, "--output", f"{FOLDER}/run", "--no-summary", base="/load")
run_to_its_end(good)

good.start()  # the folder is taken
seen["refused"] = good.wait_for("refused")
good.wait_for_stop()

LONG = ("--set", "load.requests=100000", "--output", f"{FOLDER}/long", "--no-summary")
stop_half_way(Web(GOOD, "--scenario", SCENARIO, *LONG))

forgetful = Web(GOOD, "--scenario", SCENARIO, "--reset-stats")
forgetful.start()
seen["reset by option"] = forgetful.wait_for("refused")
forgetful.wait_for_stop()

bad = Web(BAD, "--scenario", SCENARIO, "--output", f"{FOLDER}/bad", "--no-summary")
bad.start()
seen["failures"] = bad.wait_for("ended")
bad.wait_for_stop()

guarded = Web(GOOD, "--scenario", SCENARIO, login=True)
guarded.app.config["SECRET_KEY"] = "secret"


class Person(UserMixin):
    """Whoever has logged in."""

    id = "person"


guarded.web_ui.login_manager.user_loader(lambda name: Person() if name == "person" else None)
paths = ("", "page.css", "page.js", "live.json", "metrics.csv", "files/report.html")
seen["logged out"] = {path: reply(guarded.get(f"tokenpace/{path}")) for path in paths}
with guarded.client.session_transaction() as session:
    session["_user_id"], session["_fresh"] = "person", True
seen["logged in"] = {path: guarded.get(f"tokenpace/{path}").status_code for path in paths}

Path(FOLDER, "seen.json").write_text(json.dumps(seen))
