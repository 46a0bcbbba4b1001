from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mangum import Mangum
from mangum.handlers.utils import maybe_encode_body

from infra.local.events import Context, answer, http_event
from tests.events import http_api


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    """The event loop that Mangum itself would leave open."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


def scope(*headers: tuple[bytes, bytes], content_type: bytes | None = b"application/json") -> dict[str, Any]:
    typed = [] if content_type is None else [(b"Content-Type", content_type)]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/v1/x y",
        "raw_path": b"/v1/x%20y",
        "query_string": b"a=1&a=2",
        "headers": [*typed, *headers],
        "client": ("127.0.0.1", 50000),
    }


def keys(value: Any) -> Any:
    return {name: keys(inner) for name, inner in value.items()} if isinstance(value, dict) else None


def test_the_event_has_the_form_of_a_recorded_one() -> None:
    recorded = keys(http_api("/v1/x", "{}"))
    made = keys(http_event(scope(), b"{}"))
    recorded["requestContext"].pop("domainPrefix")
    recorded["headers"] = made["headers"]
    assert made == recorded


def test_path_query_and_headers() -> None:
    event = http_event(scope((b"X-A", b"1"), (b"x-a", b"2"), (b"cookie", b"a=1"), (b"Cookie", b"b=2")), b"")
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == "/v1/x%20y"
    assert event["rawQueryString"] == "a=1&a=2"
    assert event["headers"] == {"content-type": "application/json", "x-a": "1,2"}
    assert event["cookies"] == ["a=1", "b=2"]
    assert "body" not in event


@given(st.binary(max_size=64), st.sampled_from([b"application/json", b"image/png", b""]))
def test_every_body_arrives_as_it_was_sent(body: bytes, content_type: bytes) -> None:
    event = http_event(scope(content_type=content_type), body)
    assert maybe_encode_body(event.get("body", ""), is_base64=event["isBase64Encoded"]) == body


def test_json_travels_as_text_and_the_rest_as_base64() -> None:
    assert http_event(scope(), "ü".encode())["body"] == "ü"
    assert http_event(scope(), b"\xff")["body"] == base64.b64encode(b"\xff").decode()
    assert http_event(scope(content_type=None), b"{}")["isBase64Encoded"] is True


def test_an_adapter_understands_the_event() -> None:
    async def app(inner: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"] + inner["path"].encode() + inner["query_string"]
        await send({"type": "http.response.start", "status": 201, "headers": [(b"set-cookie", b"c=3")]})
        await send({"type": "http.response.body", "body": body})

    response = answer(Mangum(app, lifespan="off")(http_event(scope(), b"[]"), Context("A")))
    assert response.status_code == 201
    assert response.body == b"[]/v1/x ya=1&a=2"
    assert (b"set-cookie", b"c=3") in response.raw_headers


@pytest.mark.parametrize("content", [b"", b"text", b"\x1f\x8b\xff"])
def test_answers(content: bytes) -> None:
    encoded = {"body": base64.b64encode(content).decode(), "isBase64Encoded": True}
    response = answer({"statusCode": 200, "headers": {"content-length": "999", "x-a": "1"}, **encoded})
    assert response.body == content
    assert response.headers["content-length"] == str(len(content))
    assert response.headers["x-a"] == "1"


def test_each_invocation_has_an_id_of_its_own() -> None:
    first, second = Context("A"), Context("A")
    assert first.aws_request_id != second.aws_request_id
    assert first.invoked_function_arn.endswith(":function:A")
