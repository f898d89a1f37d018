"""Load from within Locust, measured by the harness.

    locust -f scenarios/locustfile.py --headless --host http://127.0.0.1:8000 --scenario chat

runs a scenario as ``tokenpace run`` does. People who write their own flows subclass ``LLMUser``::

    from locust import between, task
    from harness.locust import LLMUser

    class Reader(LLMUser):
        wait_time = between(1, 5)

        @task
        def ask(self):
            answer = self.llm.ask("Explain KV cache in 2 sentences.", max_tokens=64)

Requests are sent, stamped, recorded and judged by an engine on a thread of its own, with an event loop of its
own; greenlets only wait for it. What is left is an ordinary result folder, and the process's exit code is
that of ``tokenpace run``.

Importing this package imports Locust, which patches the process: nothing else of the harness imports it.
"""

from __future__ import annotations

from locust import events

from harness.locust.answer import Answer, AnswerError
from harness.locust.plugin import plug_in
from harness.locust.real_threads import use_real_threads
from harness.locust.users import LLMUser, ScenarioUser

__all__ = ["Answer", "AnswerError", "LLMUser", "ScenarioUser"]

use_real_threads()
plug_in(events)
