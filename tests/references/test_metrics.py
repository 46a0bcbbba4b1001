"""Counts beside the engine's own, and a middleware that needs next to nothing installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from prometheus_client import REGISTRY, generate_latest

from renderlayer.references.address import Place
from renderlayer.storage.s3 import S3Store
from tests.references.engines import ask, engine, request, stored


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"renderlayer_reference{name}", labels) or 0.0


def test_outcomes_bytes_and_seconds(place: Place, store: S3Store) -> None:
    outcomes = ("fetched", "cached", "missing", "refused")
    ask(engine(place, store), request("QUJD"))

    def counts() -> dict[str, float]:
        return {outcome: value("s_total", outcome=outcome) for outcome in outcomes}

    before, seconds, size = counts(), value("_seconds_count"), value("_bytes_total", outcome="fetched")
    app = engine(place, store)
    address = stored(store, place, bytes(300))
    for body in (address, address, place.address("f", "gone"), "s3://elsewhere/a/b/c"):
        ask(app, request(body))
    after = counts()
    assert {name: after[name] - before[name] for name in outcomes} == dict.fromkeys(outcomes, 1)
    assert value("_seconds_count") - seconds == 4
    assert value("_bytes_total", outcome="fetched") - size == 400
    assert value("_cache_bytes") == 400
    assert b"renderlayer_reference_seconds_bucket" in generate_latest()


BARE = """
import json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in json.loads(sys.argv[1]):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import asyncio
from renderlayer.references import ResolveReferences
from renderlayer.references.address import Address

async def app(scope, receive, send):
    message = await receive()
    while message.get("more_body"):
        print(message["body"].decode(), end="")
        message = await receive()
    print(message["body"].decode())

async def receive():
    body = {"features": {"kwargs_data": {"image": [sys.argv[2]]}}}
    return {"type": "http.request", "body": json.dumps(body).encode()}

scope = {"type": "http", "path": "/inference/v1/generate", "headers": []}
asyncio.run(ResolveReferences(app)(scope, receive, print))
"""


def bare(without: list[str], reference: str, **environment: str) -> Any:
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", BARE, json.dumps(without), reference]
    done = subprocess.run(
        command, env={**os.environ, **path, **environment}, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


NEVER = ["pydantic", "fastapi", "starlette", "orjson", "numpy", "kitoken", "mangum", "pybase64", "prometheus_client"]


@pytest.mark.parametrize(("without", "reference"), [(NEVER, ""), ([*NEVER, "boto3", "botocore"], "QUJD")])
def test_the_middleware_needs_nothing_but_boto3_and_that_late(
    place: Place, store: S3Store, without: list[str], reference: str
) -> None:
    reference = reference or str(stored(store, place, b"ABC"))
    body = bare(without, reference, RENDERLAYER_REFERENCE_BUCKET=place.bucket)
    assert body["features"]["kwargs_data"]["image"] == ["QUJD"]
