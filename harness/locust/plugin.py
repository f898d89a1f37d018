"""Where the harness hooks into Locust: its options, and the beginning and end of each test."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

import click
import gevent
from locust.runners import MasterRunner, WorkerRunner

from harness.cli import INTERNAL_ERROR, USAGE_ERROR
from harness.commands._display import display
from harness.errors import HarnessError
from harness.locust.fleet import Fleet
from harness.locust.options import add_options
from harness.locust.order import OrderError, order_of
from harness.locust.session import Session
from harness.locust.sessions import keep
from harness.locust.signals import Signals
from harness.locust.station import Station
from harness.locust.statistics import REQUEST
from harness.locust.users import LLMUser, ScenarioUser
from harness.locust.web import Board, open_site
from reports.formats import UnknownReportError
from reports.result import Verdict
from reports.result.verdict import exit_code
from scenarios.errors import ScenarioError

if TYPE_CHECKING:
    from locust.env import Environment
    from locust.event import Events

    from harness.run import Run

_FAULTS: Final = (HarnessError, ScenarioError, UnknownReportError)
"""Of a command line, a scenario or a server: told in one line."""
_STOPPED_EARLY: Final = "Locust's test was stopped before the run began"


def plug_in(events: Events) -> None:
    """Listen to Locust's events."""
    events.init_command_line_parser.add_listener(add_options)
    events.init.add_listener(_listen)


def _listen(environment: Environment, **_: object) -> None:
    if isinstance(environment.runner, WorkerRunner):
        Station(environment, environment.runner).listen()
    else:
        Plugin(environment).listen()


class Plugin:
    """Begins and ends a session with each test that has users of ours.

    Args:
        environment: Locust's.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._signals = Signals()
        self._session: Session | None = None
        self._fleet: Fleet | None = None
        self._board: Board | None = None

    def listen(self) -> None:
        """Listen from now on."""
        events = self._environment.events
        events.test_start.add_listener(self._begin)
        events.test_stopping.add_listener(self._stopping)
        events.test_stop.add_listener(self._end)
        events.quitting.add_listener(self._quit)
        self._signals.listen()
        if isinstance(self._environment.runner, MasterRunner):
            self._fleet = Fleet(self._environment.runner)
        if self._environment.web_ui is not None:
            self._board = Board()
            open_site(self._environment.web_ui, self._board)

    def _begin(self, **_: object) -> None:
        """A test starts: the run begins before the first user is spawned."""
        try:
            session = self._new_session()
            if session is not None:
                keep(self._environment, session)
                self._session = session
                if self._board is not None:
                    session.on_record = self._board.follow(session.engine).take
                session.start()
                gevent.spawn(self._end_with, session)
        except Exception as error:  # noqa: BLE001 (told, and the exit code says of what kind it is)
            self._session = None
            self._tell(error)
            gevent.spawn(self._stop_test)
            raise gevent.GreenletExit from None  # this greenlet was to spawn the users

    def _tell(self, error: BaseException) -> None:
        """Why there is no result; in one line where command line, scenario or server is at fault."""
        is_usage = isinstance(error, _FAULTS)
        what = f"tokenpace: {error}" if is_usage else "".join(traceback.format_exception(error))
        click.echo(what, err=True)
        self._show_refusal(str(error) if is_usage else f"internal error, told on standard error: {error!r}")
        self._environment.process_exit_code = USAGE_ERROR if is_usage else INTERNAL_ERROR

    def _show_refusal(self, why: str) -> None:
        if self._board is not None:
            self._board.refuse(why)

    def _new_session(self) -> Session | None:
        classes = self._environment.user_classes
        own_load = any(issubclass(each, ScenarioUser) for each in classes)
        has_tasks = any(issubclass(each, LLMUser) for each in classes)
        if not own_load and not has_tasks:
            return None
        options = self._environment.parsed_options
        if options is None:
            raise OrderError(
                "an Environment without parsed_options doesn't say what to run; start it with 'locust'"
            )
        if options.reset_stats:
            raise OrderError("--reset-stats: a run is judged whole; leave its beginning out with load.warmup")
        if own_load:
            self._demand_scenario_alone(has_tasks=has_tasks)
        if has_tasks and self._fleet is not None:
            raise OrderError(
                "users with tasks of their own run in one process so far; leave --master and --processes out"
            )
        order = order_of(options, self._host(), own_load=own_load)
        return Session(self._environment, order, own_load=own_load, fleet=self._fleet)

    def _demand_scenario_alone(self, *, has_tasks: bool) -> None:
        """A scenario has its own load: refuse what would be another."""
        options = self._environment.parsed_options
        if has_tasks:
            raise OrderError(
                "ScenarioUser and users with tasks of their own are two loads; name the classes of one of "
                "them at the end of the command line"
            )
        if self._environment.shape_class is not None:
            raise OrderError(
                "a scenario has its own load; a LoadTestShape is for users with tasks of their own"
            )
        if options is not None and options.run_time:
            raise OrderError("--run-time: the scenario says how long it runs; use --set load.duration=30s")

    def _host(self) -> str | None:
        hosts = (each.host for each in self._environment.user_classes if issubclass(each, LLMUser))
        return self._environment.host or next(filter(None, hosts), None)

    def _end_with(self, session: Session) -> None:
        """End the test when the run is over, whoever ended it."""
        session.engine.wait()
        if self._session is session:
            self._stop_test()

    def _stop_test(self) -> None:
        runner, options = self._environment.runner, self._environment.parsed_options
        assert runner is not None
        if options is not None and options.headless:
            runner.quit()
        else:
            runner.stop()

    def _stopping(self, **_: object) -> None:
        if self._session is not None:
            self._session.stopping(self._signals.name)

    def _end(self, **_: object) -> None:
        """All users have been stopped: wait for the result, and tell it."""
        session, self._session = self._session, None
        if session is None:
            return
        run = session.finish()
        if run is not None:
            self._environment.process_exit_code = run.exit_code
            self._show(run)
            if self._board is not None:
                self._board.conclude(run)
        elif isinstance(session.engine.error, gevent.GreenletExit):
            click.echo(f"tokenpace: {_STOPPED_EARLY}", err=True)
            self._show_refusal(_STOPPED_EARLY)
            self._environment.process_exit_code = exit_code(Verdict.INVALID, self._signals.name)
        elif session.engine.error is not None:
            self._tell(session.engine.error)

    def _show(self, run: Run) -> None:
        options = self._environment.parsed_options
        if options is not None and not options.no_summary:
            display(run)
        if run.fault is not None:
            click.echo(f"tokenpace: {run.fault}", err=True)

    def _quit(self, **_: object) -> None:
        """The process is about to end, whatever goes on. Its exit code is the run's."""
        gevent.sleep(0)  # a signal's name is noted by a greenlet that may be next in turn
        runner = self._environment.runner
        if self._session is not None and runner is not None:
            runner.stop()
        if self._environment.process_exit_code == 0 and self._has_faults_of_others():
            self._environment.process_exit_code = None  # Locust's own rule

    def _has_faults_of_others(self) -> bool:
        """Whether a request that is none of ours failed, or a task raised something."""
        runner = self._environment.runner
        assert runner is not None
        return bool(runner.exceptions) or any(error.method != REQUEST for error in runner.errors.values())
