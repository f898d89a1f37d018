"""Several runs one after the other: what a search for capacity and a sweep have in common.

``Order`` says how each run is to be made, ``run_one`` makes one, ``drained`` waits until the server is empty
again, and ``CampaignFolder`` keeps what is known so far beside the result folders, so that a later call goes
on from there.
"""
