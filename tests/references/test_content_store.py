"""Payloads are computed and stored once, healed when somebody broke them, and renewed before they expire."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from renderlayer.errors import BadRequest, Unavailable
from renderlayer.references.address import Address, Place
from renderlayer.references.content_store import ContentStore, StoredContent
from renderlayer.references.payload_metadata import PayloadMetadata, integrity_error
from renderlayer.storage.s3 import S3Store
from tests.references.faults import FaultyStore

DATA = os.urandom(3000)
CHANGED = DATA[:-1] + bytes([DATA[-1] ^ 1])
DAY = 86_400


class Work:
    """A payload that counts how often it is computed."""

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.count = 0
        self._lock = threading.Lock()

    def content(self, name: str = "name") -> StoredContent:
        return StoredContent("f", name, 70, self._compute)

    def _compute(self) -> bytes:
        with self._lock:
            self.count += 1
        return self.data


@pytest.fixture
def contents(store: S3Store, place: Place) -> ContentStore:
    return ContentStore(store, place, "model", 2)


@pytest.fixture
def address(place: Place) -> Address:
    return place.address("f", "name")


def content_of(s3: Any, address: Address) -> bytes:
    data: bytes = s3.get_object(Bucket=address.bucket, Key=address.key)["Body"].read()
    return data


def test_computed_once(contents: ContentStore, store: S3Store, address: Address, s3: Any) -> None:
    work = Work()
    assert contents.get_or_put(work.content()) == contents.get_or_put(work.content()) == address
    assert work.count == 1
    assert content_of(s3, address) == DATA
    stored = store.describe(address)
    assert stored is not None
    assert PayloadMetadata.read(stored.metadata) == PayloadMetadata.of(DATA, "f", "model", 70)
    assert integrity_error(stored, "f") is None
    assert integrity_error(stored, "g") == "has another fingerprint than its address"


def test_small_ones_are_given_back(contents: ContentStore, store: S3Store, address: Address) -> None:
    work = Work()
    assert contents.get_or_put(work.content(), small=len(DATA)) == DATA
    assert store.describe(address) is None
    assert contents.get_or_put(work.content(), small=len(DATA) - 1) == address
    assert contents.get_or_put(work.content(), small=len(DATA) - 1) == address
    assert work.count == 2
    assert contents.get_or_put(work.content(), small=len(DATA)) == DATA


def test_a_hundred_at_once(
    contents: ContentStore, place: Place, s3: Any, faulty: FaultyStore, faulty_store: S3Store
) -> None:
    """In one process the work is shared; of several processes the first writes."""
    work = Work()
    stores = [ContentStore(faulty_store, place, "model", 2) for _ in range(5)]
    with ThreadPoolExecutor(100) as pool:
        addresses = set(pool.map(lambda number: stores[number % 5].get_or_put(work.content()), range(100)))
    assert len(addresses) == 1
    assert work.count <= 5
    listed = s3.list_objects_v2(Bucket=place.bucket)["Contents"]
    assert [entry["Size"] for entry in listed] == [len(DATA)]


def test_what_computing_raises_reaches_all(contents: ContentStore) -> None:
    def refuse() -> bytes:
        raise BadRequest("damaged")

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(contents.get_or_put, StoredContent("f", "bad", 1, refuse)) for _ in range(8)]:
            with pytest.raises(BadRequest, match="damaged"):
                future.result()


@pytest.mark.parametrize("broken", ["truncated", "replaced", "foreign", "other fingerprint"])
def test_a_broken_object_is_made_anew(contents: ContentStore, address: Address, s3: Any, broken: str) -> None:
    work = Work()
    contents.get_or_put(work.content())
    label = PayloadMetadata.of(DATA, "f", "model", 70).metadata()
    changed = {
        "truncated": {"Body": DATA[:100], "Metadata": label},
        "replaced": {"Body": bytes(len(DATA)), "Metadata": label},
        "foreign": {"Body": DATA},
        "other fingerprint": {"Body": DATA, "Metadata": {**label, "fingerprint": "g"}},
    }[broken]
    s3.put_object(Bucket=address.bucket, Key=address.key, ChecksumAlgorithm="SHA256", **changed)
    assert contents.get_or_put(work.content()) == address
    assert work.count == 2
    assert content_of(s3, address) == DATA
    contents.get_or_put(work.content())
    assert work.count == 2


def test_renewed_in_the_second_half_of_its_life(
    place: Place, address: Address, faulty: FaultyStore, faulty_store: S3Store
) -> None:
    work = Work()
    now = time.time()
    contents = ContentStore(faulty_store, place, "model", 2, clock=lambda: now)
    contents.get_or_put(work.content())
    now += 0.9 * DAY
    contents.get_or_put(work.content())
    assert faulty.count("PUT") == 1
    now += 0.2 * DAY
    contents.get_or_put(work.content())
    assert faulty.count("PUT") == 2
    assert work.count == 1


def test_expired_between_look_and_renewal(
    place: Place, address: Address, s3: Any, faulty: FaultyStore, faulty_store: S3Store
) -> None:
    work = Work()
    contents = ContentStore(faulty_store, place, "model", 2, clock=lambda: time.time() + 1.5 * DAY)
    contents.get_or_put(work.content())

    def expire(method: str, path: str) -> None:
        if method == "PUT" and faulty.count("PUT") == 2:
            s3.delete_object(Bucket=address.bucket, Key=address.key)

    faulty.fault = expire
    assert contents.get_or_put(work.content()) == address
    assert work.count == 2
    assert content_of(s3, address) == DATA


def test_a_store_that_never_takes_it(place: Place, faulty: FaultyStore, faulty_store: S3Store) -> None:
    work = Work()
    faulty.fail("PUT", status=409, code="ConditionalRequestConflict")
    with pytest.raises(Unavailable, match="could not be stored"):
        ContentStore(faulty_store, place, "model", 2).get_or_put(work.content())
    assert work.count == 1


class WithoutDigests(S3Store):
    """A store of another make, which computes none."""

    reads = 0

    def describe(self, address: Address) -> Any:
        found = super().describe(address)
        return found and replace(found, sha256=None)

    def read(self, address: Address, stored: Any) -> Any:
        self.reads += 1
        return super().read(address, stored)


def test_changed_bytes_are_healed_where_the_store_has_no_digest(
    store: S3Store, place: Place, address: Address, s3: Any
) -> None:
    without = WithoutDigests(**store._arguments)
    contents, work = ContentStore(without, place, "model", 2), Work()
    assert contents.get_or_put(work.content()) == contents.get_or_put(work.content()) == address
    assert (work.count, without.reads) == (1, 1)
    metadata = s3.head_object(Bucket=address.bucket, Key=address.key)["Metadata"]
    s3.put_object(Bucket=address.bucket, Key=address.key, Body=CHANGED, Metadata=metadata)
    assert contents.get_or_put(work.content()) == address
    assert (work.count, content_of(s3, address)) == (2, DATA)
