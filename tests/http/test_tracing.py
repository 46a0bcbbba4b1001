"""A trace goes on from the caller through a server or a function to the engine and the object store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from renderlayer.http.application import Application
from renderlayer.http.aws.lambda_handler import LambdaHandler
from renderlayer.http.complete import complete_endpoints
from renderlayer.http.request import LAMBDA, trace_of
from renderlayer.pipeline.engine import Engine
from renderlayer.request_context import traced
from renderlayer.served_model import ServedModel
from renderlayer.storage.s3 import make_client
from tests.derender.engine import choice, encoded, response
from tests.events import SOURCES, FakeContext
from tests.pipeline.loop import wait
from tests.pipeline.mocked import MockEngine

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
XRAY = "Root=1-67a2f0c1-0123456789abcdef01234567;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=1:a:0"
FROM_XRAY = "00-67a2f0c10123456789abcdef01234567-53995c3f42cd8ad8-01"
CHAT = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
PATH = "/v1/chat/completions"


@pytest.fixture
def seen() -> list[dict[str, str]]:
    """Headers of every call that reaches the engine."""
    return []


@pytest.fixture
def app(server: ServedModel, seen: list[dict[str, str]]) -> Iterator[Application]:
    tokens = encoded(server, "Hello there")

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(dict(request.headers))
        return httpx2.Response(200, json=response(choice(tokens)))

    engine = Engine("http://engine", transport=MockEngine(answer))
    yield Application(server.settings, {}, complete_endpoints(server, engine))
    wait(engine.aclose())


def test_a_server_passes_it_on_for_each_request_alone(app: Application, seen: list[dict[str, str]]) -> None:
    client = TestClient(app)
    assert client.post(PATH, json=CHAT, headers={"traceparent": PARENT, "tracestate": "a=1"}).status_code == 200
    assert client.post(PATH, json=CHAT).status_code == 200
    assert [(call.get("traceparent"), call.get("tracestate")) for call in seen] == [(PARENT, "a=1"), (None, None)]


@pytest.mark.parametrize("source", SOURCES)
def test_a_function_passes_it_on(
    source: Any, app: Application, server: ServedModel, seen: list[dict[str, str]]
) -> None:
    handler = LambdaHandler(app, server.settings, "complete")
    result = handler(source(PATH, json.dumps(CHAT), {"traceparent": PARENT}), FakeContext())
    assert result["statusCode"] == 200
    assert [call["traceparent"] for call in seen] == [PARENT]


def test_where_x_ray_alone_tells_of_a_trace_it_goes_on_in_the_form_that_engines_read(
    app: Application, server: ServedModel, seen: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LAMBDA, XRAY)
    handler = LambdaHandler(app, server.settings, "complete")
    for headers in ({}, {"traceparent": PARENT}):
        handler(SOURCES[0](PATH, json.dumps(CHAT), headers), FakeContext())
    assert [call["traceparent"] for call in seen] == [FROM_XRAY, PARENT]


@pytest.mark.parametrize(
    "parent",
    ["", "nonsense", PARENT.upper(), PARENT + "\r\nx: y", "00-" + "0" * 32 + PARENT[35:], "ff" + PARENT[2:]],
)
def test_what_is_no_trace_goes_nowhere(parent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LAMBDA, "Root=1-67a2f0c1-0123456789abcdef01234567")
    assert trace_of({"type": "http", "headers": [(b"traceparent", parent.encode())]}) == ()


def test_calls_to_the_object_store_carry_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    client = make_client(region_name="eu-central-1", aws_access_key_id="a", aws_secret_access_key="b")

    def answer(request: Any, **_: Any) -> Any:
        from botocore.awsrequest import AWSResponse

        sent.append(request.headers.get("traceparent"))
        return AWSResponse(request.url, 200, {}, SimpleNamespace(stream=lambda: iter(())))

    client.meta.events.register("before-send.s3", answer)
    with traced((("traceparent", PARENT),)):
        client.head_object(Bucket="b", Key="k")
    client.head_object(Bucket="b", Key="k")
    assert [value.decode() if isinstance(value, bytes) else value for value in sent] == [PARENT, None]
