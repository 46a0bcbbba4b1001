"""Payloads in memory stay within the limit, are shared, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.errors import PayloadTooLarge
from renderlayer.references.address import Address, Place
from renderlayer.references.cache import Cache, Lease
from renderlayer.storage.s3 import S3Store
from tests.references.engines import ask, engine, request, stored

PLACE = Place("bucket", "references")
LIMIT = 10


def address(name: int) -> Address:
    return PLACE.address("f", str(name))


def sizes(*names: int) -> dict[Address, int | None]:
    """Payloads, each as large as its name says, 1 to 10."""
    return {address(name): name % LIMIT + 1 for name in names}


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 300))


async def held(cache: Cache, *names: int) -> Lease:
    """Lease payloads and bring those that are not there."""
    lease = await cache.lease(sizes(*names))
    assert lease is not None
    for fresh in lease.fresh:
        cache.bring(fresh, [b"x"])
    return lease


requests = st.lists(
    st.lists(st.integers(0, 29), min_size=1, max_size=4, unique=True).filter(
        lambda names: sum(name % LIMIT + 1 for name in names) <= LIMIT
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=60)
@given(requests=requests, turns=st.randoms(use_true_random=False))
def test_every_request_is_served_within_the_limit(requests: Sequence[Sequence[int]], turns: Any) -> None:
    async def scenario() -> None:
        cache = Cache(LIMIT)

        async def serve(names: Sequence[int]) -> None:
            lease = await cache.lease(sizes(*names))
            assert lease is not None
            assert cache.used <= LIMIT
            for fresh in lease.fresh:
                for _ in range(turns.randrange(3)):
                    await asyncio.sleep(0)
                cache.bring(fresh, OSError("gone") if turns.random() < 0.2 else [b"x"])
            outcomes = await asyncio.gather(
                *(asyncio.shield(entry.pieces) for entry in lease.entries.values()), return_exceptions=True
            )
            assert all(isinstance(outcome, OSError) or outcome == [b"x"] for outcome in outcomes)
            lease.release()

        await asyncio.gather(*map(serve, requests))
        assert cache.used <= LIMIT
        assert await cache.lease(sizes(9)) is not None, "everything is idle, so the largest fits"

    run(scenario())


def test_the_least_recently_used_goes_first() -> None:
    async def scenario() -> None:
        cache = Cache(LIMIT)
        for names in ((3,), (4,), (3,)):
            (await held(cache, *names)).release()
        (await held(cache, 1)).release()
        assert address(3) in cache
        assert address(4) not in cache

    run(scenario())


def test_what_is_held_stays() -> None:
    async def scenario() -> None:
        cache = Cache(LIMIT)
        first = await held(cache, 5)
        waiting = asyncio.create_task(held(cache, 4, 14))
        done, _ = await asyncio.wait([waiting], timeout=0)
        assert not done
        assert address(5) in cache
        first.release()
        (await waiting).release()
        assert address(5) not in cache

    run(scenario())


def test_too_much_for_one_request() -> None:
    async def scenario() -> None:
        cache = Cache(LIMIT)
        await held(cache, 5)
        with pytest.raises(PayloadTooLarge, match="10 bytes"):
            await cache.lease(sizes(4, 5))

    run(scenario())


def test_one_that_left_meanwhile() -> None:
    async def scenario() -> None:
        cache = Cache(LIMIT)
        (await held(cache, 3)).release()
        known = await cache.lease({address(3): None})
        assert known is not None
        known.release()
        (await held(cache, 9)).release()
        assert await cache.lease({address(3): None}) is None

    run(scenario())


def test_more_than_fits_is_refused(place: Place, store: S3Store) -> None:
    data = stored(store, place, os.urandom(1000))
    (answer,) = ask(engine(place, store, reference_cache_bytes=1000), request(data))
    assert answer.status_code == 413


CROWD = """
import asyncio, json, resource, sys
import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from renderlayer.references import ResolveReferences

async def size(request):
    return PlainTextResponse(str(len(await request.body())))

path = "/inference/v1/generate"
app = Starlette(routes=[Route(path, size, methods=["POST"])], middleware=[Middleware(ResolveReferences)])
bodies = [json.dumps(body).encode() for body in json.load(sys.stdin)]

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

async def main():
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://engine", timeout=300) as client:
        await client.post(path, content=bodies[0])
        before = peak()
        answers = await asyncio.gather(*(client.post(path, content=bodies[at // 8]) for at in range(200)))
        print(json.dumps({"grew": peak() - before, "sizes": sorted({int(answer.text) for answer in answers})}))

asyncio.run(main())
"""


def test_memory_under_two_hundred_requests(place: Place, store: S3Store) -> None:
    """Requests for 280 MB of base64, of which a twentieth may be in memory at a time."""
    limit, size = 14 << 20, 1 << 20
    bodies = [request(stored(store, place, os.urandom(size))) for _ in range(25)]
    done = subprocess.run(
        [sys.executable, "-c", CROWD],
        input=json.dumps(bodies),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "RENDERLAYER_REFERENCE_BUCKET": place.bucket,
            "RENDERLAYER_REFERENCE_CACHE_BYTES": str(limit),
            "RENDERLAYER_REFERENCE_SECONDS": "120",
        },
        check=True,
        capture_output=True,
        text=True,
    )
    outcome = json.loads(done.stdout)
    assert all(whole > size * 4 // 3 for whole in outcome["sizes"])
    assert outcome["grew"] < limit + (20 << 20), "beside the cache: one piece a thread, one body in the application"
