"""What the server says of itself: its ``/metrics`` are read every second while a run goes on.

A thread of its own asks (``scraper``), with a client of its own (``page``). What it gets is read
(``exposition``), put into common words (``dialects``, ``figures``) and on disk (``log``). When the run is
over, points over time and cross-checks against what the client saw are drawn from there (``summary``,
``checks``).

All of it is an extra: a server without such a page gives a note, and nothing here fails a run.
"""
