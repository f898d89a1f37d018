"""The harness's own page beside Locust's, at ``tokenpace/``, and its tables among Locust's.

``board``     what is shown: nothing yet, a run that goes on, its result, or why there is none
``follower``  sums up the requests of a run while it goes on, where the engine isn't disturbed by that
``so_far``    what these come to, as a result that nothing is judged in
``document``  that, or the result of a run that is over, in the words and charts of the report
``site``      the routes: page, script, style, ``live.json``, files to download
``tabs``      tabs, tables and links of Locust's own page
``resetting`` why Locust's statistics can't be reset while a run goes on

Nothing that a server, a model or a scenario says is ever markup: the page's script puts it in as text, and a
content security policy lets no other script run.
"""

from __future__ import annotations

from harness.locust.web.board import Board as Board
from harness.locust.web.site import open_site as open_site
