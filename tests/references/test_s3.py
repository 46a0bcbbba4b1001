"""The store over real boto3: whole objects or none, the first of several writers, faults as errors of the tree."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from renderlayer.errors import Unavailable
from renderlayer.references.address import Address, Place
from renderlayer.storage.objects import Gone
from renderlayer.storage.s3 import PIECE, S3Store
from tests.references.faults import FaultyStore

DATA = os.urandom(1000)
LABEL = {"kind": "test"}


def put(store: S3Store, address: Address, data: bytes = DATA, **more: Any) -> bool:
    return store.put(address, data, hashlib.sha256(data).digest(), LABEL, **more)


@pytest.fixture
def address(place: Place) -> Address:
    return place.address("f", "n")


def test_there_and_back(store: S3Store, address: Address) -> None:
    assert store.describe(address) is None
    assert put(store, address)
    stored = store.describe(address)
    assert stored is not None
    assert (stored.size, stored.sha256) == (len(DATA), hashlib.sha256(DATA).hexdigest())
    assert stored.metadata == LABEL
    assert b"".join(store.read(address, stored)) == DATA


def test_large_objects_come_in_pieces(store: S3Store, address: Address) -> None:
    data = os.urandom(2 * PIECE + 5)
    put(store, address, data)
    stored = store.describe(address)
    assert stored is not None
    assert [len(piece) for piece in store.read(address, stored)] == [PIECE, PIECE, 5]


def test_the_first_writer_wins(store: S3Store, address: Address, s3: Any) -> None:
    with ThreadPoolExecutor(20) as pool:
        won = list(pool.map(lambda number: put(store, address, bytes([number]) * 9), range(20)))
    assert sum(won) == 1
    assert s3.get_object(Bucket=address.bucket, Key=address.key)["Body"].read() == bytes([won.index(True)]) * 9


def test_a_version_is_replaced_once(store: S3Store, address: Address) -> None:
    put(store, address)
    first = store.describe(address)
    assert first is not None
    assert put(store, address, b"other", replaces=first)
    assert not put(store, address, b"third", replaces=first)
    with pytest.raises(Gone):
        list(store.read(address, first))


def test_renewing(store: S3Store, address: Address, s3: Any) -> None:
    put(store, address)
    stored = store.describe(address)
    assert stored is not None
    assert store.renew(address, stored)
    renewed = store.describe(address)
    assert renewed is not None
    assert renewed.modified >= stored.modified
    assert (renewed.sha256, renewed.metadata) == (stored.sha256, stored.metadata)
    s3.delete_object(Bucket=address.bucket, Key=address.key)
    assert not store.renew(address, stored)


def every_call(store: S3Store, address: Address) -> Iterator[Any]:
    from renderlayer.storage.objects import Stored

    stored = Stored(1, '"e"', 0.0, None, {})
    yield lambda: store.describe(address)
    yield lambda: put(store, address)
    yield lambda: store.renew(address, stored)
    yield lambda: list(store.read(address, stored))


@pytest.mark.parametrize(
    ("status", "code"),
    [(500, "InternalError"), (503, "SlowDown"), (400, "ExpiredToken")],
)
def test_a_store_that_fails(
    faulty: FaultyStore, faulty_store: S3Store, address: Address, status: int, code: str
) -> None:
    for call, method in zip(every_call(faulty_store, address), ("HEAD", "PUT", "PUT", "GET"), strict=True):
        faulty.fail(method, status=status, code=code)
        with pytest.raises(Unavailable) as caught:
            call()
        assert caught.value.retry_after > 0
        assert "test" not in caught.value.message


def test_a_store_that_is_not_there(place: Place) -> None:
    from botocore.config import Config

    store = S3Store(endpoint_url="http://127.0.0.1:9", config=Config(retries={"total_max_attempts": 1}))
    for call in every_call(store, place.address("f", "n")):
        with pytest.raises(Unavailable):
            call()


def test_an_answer_that_breaks_off(faulty: FaultyStore, faulty_store: S3Store, address: Address) -> None:
    put(faulty_store, address)
    stored = faulty_store.describe(address)
    assert stored is not None
    faulty.fail("GET", cut=400)
    with pytest.raises(Unavailable):
        list(faulty_store.read(address, stored))


WRITER = """
import hashlib, sys
from renderlayer.references.address import Address
from renderlayer.storage.s3 import S3Store
data = bytes(8 << 20)
S3Store().put(Address.parse(sys.argv[1]), data, hashlib.sha256(data).digest(), {})
"""


def test_a_writer_that_is_killed_leaves_nothing(store: S3Store, address: Address, faulty: FaultyStore, s3: Any) -> None:
    faulty.fail("PUT", pause=1 << 20)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(address)], env={**environment, "AWS_ENDPOINT_URL_S3": faulty.url}
    )
    assert faulty.reached.wait(60)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    faulty.go.set()
    assert store.describe(address) is None
    assert "Contents" not in s3.list_objects_v2(Bucket=address.bucket)
    assert put(store, address)
