"""What the tests of this project have in common."""

import pytest


@pytest.fixture(scope="session")
def sla_config():
    """Keys of a scenario that every load has unless it says otherwise."""
    return {"prompts": "Explain KV cache in 2 sentences.", "max_tokens": 32, "temperature": 0}


@pytest.fixture(scope="session")
def steady(load_session):
    """A load that several tests look at. It is sent once."""
    return load_session(concurrency=2, requests=60)
