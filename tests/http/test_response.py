"""Payloads spliced into answers: the same bytes that orjson writes."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import orjson
import pytest

from renderlayer.http.response import LARGE, Pieces, spliced

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
    assert b"".join(spliced(copy.deepcopy(answer))) == orjson.dumps(answer)
    raw = copy.deepcopy(answer)
    for slots in ((raw["features"] or {}).get("kwargs_data") or {}).values():
        slots[:] = [slot.encode() if slot == LONG else slot for slot in slots]
    assert b"".join(spliced(raw)) == orjson.dumps(answer)


def test_other_answers() -> None:
    assert spliced([{"features": None}]) == [b'[{"features":null}]']
    assert spliced({}) == [b"{}"]


def test_pieces_are_sent_in_slices_and_let_go() -> None:
    payload = bytes(range(256)) * 16384
    sent: list[Any] = []
    response = Pieces([b'{"a":"', payload, b'","b":', b"1}"])

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(response({}, None, send))  # type: ignore[arg-type]
    start, *parts = sent
    assert dict(start["headers"])[b"content-length"] == str(len(payload) + 14).encode()
    assert b"".join(part["body"] for part in parts) == b'{"a":"' + payload + b'","b":1}'
    assert max(len(part["body"]) for part in parts) <= 1 << 20
    assert [part["more_body"] for part in parts] == [True] * (len(parts) - 1) + [False]


def test_payloads_are_let_go() -> None:
    answer: dict[str, Any] = {"features": {"kwargs_data": {"image": [LONG]}}}
    spliced(answer)
    assert answer["features"]["kwargs_data"]["image"] == [""]
