"""A server without a model that sends tokens at scripted times: the truth a client is measured against.

``python -m reference_server.timetable --ttft 50ms --gap 10ms --tokens 64`` speaks the OpenAI API, logs for
each request its arrival and the moment each token's bytes were handed to the kernel (``GET
/timetable/log``), and goes wrong on demand. Every option is a field of ``script.Script``; a request overrides
any of them in its body, as ``timetable: {...}`` or ``vllm_xargs: {"timetable": {...}}``.

A request becomes a plan (``plan``: the script with all chance drawn), the plan a sequence of writes
(``writes``, of ``events``), and an ``answer`` carries them out on a ``connection`` when the timer
``wheel`` says so.
"""

from __future__ import annotations

from reference_server.timetable.command import main

__all__ = ["main"]
