"""The body fields of a request."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pydantic import ValidationError

from scenarios.sampling import Sampling
from scenarios.seeds import generator


def _bodies(count: int = 1, **keys: Any) -> list[dict[str, Any]]:
    sampling = Sampling.model_validate(keys)
    return list(itertools.islice(sampling.bodies(generator(0, "sampling")), count))


def test_what_is_not_stated_is_not_sent() -> None:
    assert _bodies() == [{}]


def test_what_is_stated_is_sent_under_its_own_name() -> None:
    stated: dict[str, Any] = {
        "max_tokens": 32,
        "temperature": 0.0,
        "top_p": 0.9,
        "top_k": 40,
        "seed": 7,
        "ignore_eos": True,
    }
    assert _bodies(**stated) == [stated]
    assert _bodies(ignore_eos=False) == [{"ignore_eos": False}]


def test_stop_is_sent_as_a_list() -> None:
    assert _bodies(stop="END") == _bodies(stop=["END"]) == [{"stop": ["END"]}]


def test_extra_body_goes_in_as_it_is() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}, "logit_bias": {"5": -100}}
    assert _bodies(extra_body=extra, top_k=3) == [{"top_k": 3, **extra}]


def test_max_tokens_may_be_drawn() -> None:
    limits = [body["max_tokens"] for body in _bodies(50, max_tokens={"min": 10, "max": 20})]
    assert 10 <= min(limits) < max(limits) <= 20


def test_bodies_share_nothing() -> None:
    """A driver may change one without changing the next."""
    first, second = _bodies(2, temperature=1.0)
    first["temperature"] = 0
    assert second == {"temperature": 1.0}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"extra_body": {"stream": False}}, "'stream' is set by tokenpace"),
        ({"extra_body": {"top_p": 1}}, "'top_p' is a key of sampling"),
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens 9 is more than max_tokens 8"),
        ({"temperature": -1}, "greater than or equal to 0"),
        ({"top_p": 0}, "greater than 0"),
        ({"temprature": 1}, "did you mean 'temperature'"),
        ({"stop": []}, "must be a text or a list of texts"),
        ({"stop": ""}, "holds an empty text, at which every answer would end"),
        ({"stop": ["END", ""]}, "holds an empty text"),
        ({"max_tokens": True}, "must be a whole number or"),
        ({"max_tokens": "10"}, "must be a whole number or"),
        ({"max_tokens": {"min": True, "max": 5}}, "valid integer"),
    ],
)
def test_what_can_not_be_asked_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Sampling.model_validate(keys)
