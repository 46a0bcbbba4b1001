"""Payloads spliced into answers: the same bytes that orjson writes."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from renderlayer.http.splice import LARGE, spliced

LONG = "QUJD" * (LARGE // 4 + 1)


@pytest.mark.parametrize(
    "features",
    [
        None,
        {"mm_hashes": {}, "kwargs_data": None},
        {"mm_hashes": {"image": ['a"\u00e9']}, "kwargs_data": {}, "mm_metadata": None},
        {"kwargs_data": {"image": []}},
        {"kwargs_data": {"image": [LONG]}},
        {"mm_hashes": {"image": ["x", "y"]}, "kwargs_data": {"image": ["s3://b/k", LONG], "video": [LONG, LONG, None]}},
    ],
)
def test_the_same_bytes(features: Any) -> None:
    answer = {"request_id": "r\u2028", "token_ids": [1, 2], "features": features, "model": None}
    assert spliced(copy.deepcopy(answer)) == orjson.dumps(answer)


def test_other_answers() -> None:
    assert spliced([{"features": None}]) == b'[{"features":null}]'
    assert spliced({}) == b"{}"


def test_payloads_are_let_go() -> None:
    answer: dict[str, Any] = {"features": {"kwargs_data": {"image": [LONG]}}}
    spliced(answer)
    assert answer["features"]["kwargs_data"]["image"] == [""]
