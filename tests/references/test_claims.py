"""A whole request by reference: `{"request_ref": "s3://…"}` stands for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.references.address import Address, Place
from renderlayer.storage.s3 import S3Store
from tests.references.engines import ask, base64_of, engine, request, stored


def sent(place: Place, store: S3Store, body: Any) -> Any:
    (answer,) = ask(engine(place, store), body)
    return json.loads(answer.json()["body"]) if answer.status_code == 200 else answer.json()["error"]


def check_for(store: S3Store, place: Place, body: Any) -> Address:
    return stored(store, place, json.dumps(body).encode())


def test_a_claim_check_is_redeemed(place: Place, store: S3Store) -> None:
    body = request("QUJD")
    assert sent(place, store, {"request_ref": str(check_for(store, place, body))}) == body


def test_references_inside_are_resolved_too(place: Place, store: S3Store) -> None:
    body = request(stored(store, place, b"payload"))
    assert sent(place, store, {"request_ref": str(check_for(store, place, body))}) == request(base64_of(b"payload"))


def test_what_stands_beside_it_goes_first(place: Place, store: S3Store) -> None:
    check = str(check_for(store, place, request("QUJD", stream=True)))
    body = {"stream": False, "request_ref": check, "sampling_params": {"max_tokens": 7}}
    assert sent(place, store, body) == request("QUJD", stream=False) | {"sampling_params": {"max_tokens": 7}}


@pytest.mark.parametrize("content", [[], {}, "text", 5, {"request_ref": "s3://bucket/references/f/n"}])
def test_what_is_no_request(place: Place, store: S3Store, content: Any) -> None:
    error = sent(place, store, {"request_ref": str(check_for(store, place, content))})
    assert (error["code"], error["param"]) == (400, "request_ref")


def test_a_claim_check_that_expired(place: Place, store: S3Store) -> None:
    error = sent(place, store, {"request_ref": str(place.address("f", "gone"))})
    assert error["message"] == "request_ref: the referenced object is gone. Render again."
    assert (error["code"], error["param"]) == (424, "request_ref")


def test_a_broken_body_with_a_claim_check(place: Place, store: S3Store) -> None:
    check = check_for(store, place, request("QUJD"))
    error = sent(place, store, f'{{"request_ref": "{check}", '.encode())
    assert error["code"] == 400
