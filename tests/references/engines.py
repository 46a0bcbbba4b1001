"""A Starlette application in the engine's place, and clients that talk to it in one event loop."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Sequence
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from renderlayer.references import ResolveReferences
from renderlayer.references.address import Address, Place
from renderlayer.references.content_store import ContentStore, StoredContent
from renderlayer.references.middleware import PATH
from renderlayer.references.payload_metadata import PayloadMetadata
from renderlayer.settings import Settings
from renderlayer.storage.objects import ObjectStore

MODEL = "a-model"


async def echo(request: Request) -> JSONResponse:
    body = await request.body()
    length = request.headers.get("content-length")
    return JSONResponse({"body": body.decode(), "right": length is None or int(length) == len(body)})


def engine(place: Place, store: ObjectStore, **settings: Any) -> Starlette:
    """An application that tells which body reached it."""
    chosen = Settings(reference_bucket=place.bucket, reference_prefix=place.prefix, **settings)
    middleware = [Middleware(ResolveReferences, settings=chosen, store=store)]
    return Starlette(routes=[Route(PATH, echo, methods=["POST"])], middleware=middleware)


def ask(app: Starlette, *bodies: Any, **options: Any) -> list[httpx.Response]:
    """Send bodies at the same time; the answers."""

    async def all_of_them() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://engine", timeout=60) as client:
            calls = [client.post(PATH, content=_encoded(body), **options) for body in bodies]
            return list(await asyncio.gather(*calls))

    return asyncio.run(all_of_them())


def _encoded(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def stored(store: ObjectStore, place: Place, data: bytes, name: str | None = None, model: str = MODEL) -> Address:
    """Put a payload where render would."""
    kept = ContentStore(store, place, model, 2).get_or_put(
        StoredContent("f" * 32, name or os.urandom(8).hex(), 70, lambda: data)
    )
    assert isinstance(kept, Address)
    return kept


def request(*slots: Any, **more: Any) -> dict[str, Any]:
    """A generate request with one image a slot."""
    count = len(slots)
    return {
        "request_id": "r",
        "token_ids": list(range(10 + count)),
        "features": {
            "mm_hashes": {"image": [f"h{at}" for at in range(count)]},
            "mm_placeholders": {"image": [{"offset": at, "length": 1} for at in range(count)]},
            "kwargs_data": {"image": [str(slot) if isinstance(slot, Address) else slot for slot in slots]},
            "mm_metadata": {"image": [None] * count},
        },
        "sampling_params": {"max_tokens": 1},
        **more,
    }


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def spoil(s3: Any, address: Address, data: bytes, label: PayloadMetadata | None) -> None:
    """Write over an object behind the product's back."""
    metadata = label.metadata() if label else {}
    s3.put_object(Bucket=address.bucket, Key=address.key, Body=data, Metadata=metadata, ChecksumAlgorithm="SHA256")


def slots_of(answer: httpx.Response) -> Sequence[str | None]:
    """What stands in `kwargs_data` of the body that reached the engine."""
    entries: Sequence[str | None] = json.loads(answer.json()["body"])["features"]["kwargs_data"]["image"]
    return entries
