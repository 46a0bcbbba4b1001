"""Whatever happens to an object or to the store, the engine's caller gets an answer that says what to do."""

from __future__ import annotations

import os
from typing import Any

import httpx
import pytest

from renderlayer.references.address import Address, Place
from renderlayer.references.payload_metadata import PayloadMetadata
from renderlayer.storage.s3 import PIECE, S3Store
from tests.references.engines import MODEL, ask, base64_of, engine, request, slots_of, spoil, stored
from tests.references.faults import FaultyStore

DATA = os.urandom(2 * PIECE)


def answer_to(place: Place, store: S3Store, *slots: Any, **settings: Any) -> httpx.Response:
    (answer,) = ask(engine(place, store, **settings), request(*slots))
    return answer


def error_of(answer: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert error["code"] == answer.status_code
    return error


def test_a_deleted_object(place: Place, store: S3Store, s3: Any) -> None:
    kept, gone = stored(store, place, DATA), stored(store, place, DATA)
    s3.delete_object(Bucket=gone.bucket, Key=gone.key)
    answer = answer_to(place, store, kept, gone)
    assert answer.status_code == 424
    assert error_of(answer) == {
        "message": "features.kwargs_data.image[1]: the referenced object is gone. Render again.",
        "type": "FailedDependencyError",
        "param": "features.kwargs_data.image[1]",
        "code": 424,
    }


LABEL = PayloadMetadata.of(DATA, "f" * 32, MODEL, 70)


@pytest.mark.parametrize(
    ("data", "label", "says"),
    [
        (DATA[:-1], LABEL, f"has {len(DATA) - 1} bytes where {len(DATA)} were written"),
        (bytes(len(DATA)), LABEL, "does not match its checksum"),
        (DATA, None, "was not written as a payload"),
        (DATA, PayloadMetadata.of(DATA, "0" * 32, MODEL, 70), "has another fingerprint than its address"),
        (b"", LABEL, f"has 0 bytes where {len(DATA)} were written"),
    ],
    ids=["truncated", "replaced", "foreign", "other fingerprint", "empty"],
)
def test_an_object_that_was_changed(
    place: Place, store: S3Store, s3: Any, data: bytes, label: PayloadMetadata | None, says: str
) -> None:
    address = stored(store, place, DATA)
    spoil(s3, address, data, label)
    answer = answer_to(place, store, "QUJD", address)
    assert answer.status_code == 400
    error = error_of(answer)
    assert says in error["message"]
    assert (error["type"], error["param"]) == ("BadRequestError", "features.kwargs_data.image[1]")


def test_a_content_that_only_reading_shows_to_be_wrong(place: Place, store: S3Store, s3: Any) -> None:
    """A store that computes no digests of its own."""
    address = stored(store, place, DATA)
    s3.put_object(Bucket=address.bucket, Key=address.key, Body=bytes(len(DATA)), Metadata=LABEL.metadata())
    described = store.describe(address)
    assert described is not None
    assert described.sha256 is None
    answer = answer_to(place, store, address)
    assert answer.status_code == 400
    assert "does not match its checksum" in error_of(answer)["message"]


def test_after_the_heal_the_reference_works_again(place: Place, store: S3Store, s3: Any) -> None:
    address = stored(store, place, DATA, name="healed")
    spoil(s3, address, bytes(len(DATA)), LABEL)
    app = engine(place, store)
    assert [answer.status_code for answer in ask(app, request(address))] == [400]
    assert stored(store, place, DATA, name="healed") == address
    assert slots_of(ask(app, request(address))[0]) == [base64_of(DATA)]


def test_another_models_payload(place: Place, store: S3Store) -> None:
    address = stored(store, place, DATA, model="another-model")
    answer = answer_to(place, store, address, reference_model=MODEL)
    assert answer.status_code == 400
    assert "was made for another model than this engine's" in error_of(answer)["message"]
    assert answer_to(place, store, address, reference_model="another-model").status_code == 200


@pytest.mark.parametrize(
    "reference",
    [
        "s3://elsewhere/references/f/n",
        "s3://{bucket}/other/f/n",
        "s3://{bucket}/references/../other/f/n",
        "s3://{bucket}/references",
        "s3://169.254.169.254/latest/meta-data/iam",
    ],
)
def test_places_that_are_not_allowed(place: Place, faulty: FaultyStore, faulty_store: S3Store, reference: str) -> None:
    answer = answer_to(place, faulty_store, reference.format(bucket=place.bucket))
    assert answer.status_code == 400
    assert error_of(answer)["param"] == "features.kwargs_data.image[0]"
    assert faulty.requests == []


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_store_that_refuses_is_no_reason_to_try_again(
    place: Place, faulty: FaultyStore, faulty_store: S3Store, method: str
) -> None:
    address = stored(faulty_store, place, DATA)
    faulty.fail(method, status=403, code="AccessDenied")
    (answer,) = ask(engine(place, faulty_store), request(address))
    assert answer.status_code == 502 and "retry-after" not in answer.headers
    assert "look at" in error_of(answer)["message"] or "set up wrongly" in error_of(answer)["message"]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 503, "code": "SlowDown"},
        {"status": 400, "code": "ExpiredToken"},
    ],
    ids=lambda fault: fault.get("code", "500"),
)
def test_a_store_that_fails(
    place: Place, faulty: FaultyStore, faulty_store: S3Store, method: str, fault: dict[str, Any]
) -> None:
    address = stored(faulty_store, place, DATA)
    faulty.fail(method, **fault)
    app = engine(place, faulty_store)
    (answer,) = ask(app, request(address))
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    assert error_of(answer)["type"] == "ServiceUnavailableError"
    faulty.fault = lambda method, path: None
    assert slots_of(ask(app, request(address))[0]) == [base64_of(DATA)]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_a_store_that_does_not_answer(place: Place, faulty: FaultyStore, faulty_store: S3Store, method: str) -> None:
    address = stored(faulty_store, place, DATA)
    faulty.fail(method, stall=True)
    answer = answer_to(place, faulty_store, address, reference_seconds=0.3)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]


def test_an_answer_that_breaks_off(place: Place, faulty: FaultyStore, faulty_store: S3Store) -> None:
    address = stored(faulty_store, place, DATA)
    faulty.fail("GET", cut=PIECE + 10)
    assert answer_to(place, faulty_store, address).status_code == 503


def test_expired_credentials_of_the_writer(place: Place, faulty: FaultyStore, faulty_store: S3Store) -> None:
    from renderlayer.errors import Unavailable

    faulty.fail("PUT", status=400, code="ExpiredToken")
    with pytest.raises(Unavailable):
        stored(faulty_store, place, DATA)
    assert faulty_store.describe(Address(place.bucket, place.prefix, "f" * 32, "n")) is None
