from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from renderlayer.errors import PayloadTooLarge
from renderlayer.http.middleware.body_limit import WORTH_IT, BodyLimitMiddleware, compressed, size_as_base64
from renderlayer.http.request import read_body

LIMIT = 200_000


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(body)(scope, receive, send)


def client(app: Any = echo, response_limit: int | None = None) -> TestClient:
    bodies = BodyLimitMiddleware(app, LIMIT, lambda scope: response_limit)
    return TestClient(bodies, headers={"accept-encoding": "identity"})


def test_a_body_passes() -> None:
    answer = client().post("/", content=b"hello")
    assert (answer.status_code, answer.content) == (200, b"hello")
    assert "content-encoding" not in answer.headers


def test_a_gzip_body_is_inflated() -> None:
    answer = client().post("/", content=compressed(b"hello"), headers={"content-encoding": "gzip"})
    assert answer.content == b"hello"


@pytest.mark.parametrize("content", [b"x" * (LIMIT + 1), b"x" * (LIMIT * 9)])
def test_an_oversized_body_gets_413(content: bytes) -> None:
    answer = client().post("/", content=content)
    assert answer.status_code == 413
    assert answer.json()["error"]["type"] == "PayloadTooLargeError"
    assert answer.headers["connection"] == "close"


def test_a_gzip_bomb_gets_413() -> None:
    answer = client().post("/", content=compressed(bytes(50_000_000)), headers={"content-encoding": "gzip"})
    assert answer.status_code == 413


def test_a_broken_gzip_body_gets_400() -> None:
    answer = client().post("/", content=b"{}", headers={"content-encoding": "gzip"})
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "BadRequestError"


def read(chunks: list[bytes], headers: dict[bytes, bytes]) -> tuple[bytes | None, int]:
    """What `read_body` makes of a body of many messages, and how many of them it took."""
    left = list(chunks)

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    try:
        body = asyncio.run(read_body({"type": "http", "headers": list(headers.items())}, receive, 10))
    except PayloadTooLarge:
        return None, len(chunks) - len(left)
    return body, len(chunks) - len(left)


def test_reading_joins_the_parts_of_a_body() -> None:
    assert read([b"abc", b"", b"defg"], {}) == (b"abcdefg", 3)


def test_an_oversized_body_is_refused_before_its_end() -> None:
    assert read([b"12345"] * 1000, {}) == (None, 3)
    assert read([b"12345"] * 4, {b"content-length": b"20"}) == (None, 0)


def refused(chunks: list[bytes], headers: dict[bytes, bytes]) -> tuple[list[Message], int]:
    """What an oversized body is answered with, and how many of its messages were taken."""
    left, sent = list(chunks), []

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Message) -> None:
        sent.append({**message, "left": len(left)})

    scope = {"type": "http", "path": "/", "headers": list(headers.items())}
    asyncio.run(BodyLimitMiddleware(echo, 10, patience=60)(scope, receive, send))
    return sent, len(chunks) - len(left)


def test_a_refused_body_is_taken_for_a_while_after_the_answer() -> None:
    (start, answer, end), taken = refused([b"12345"] * 6, {b"content-length": b"30"})
    assert (start["status"], answer["left"], taken) == (413, 6, 6)
    assert json.loads(answer["body"])["error"]["type"] == "PayloadTooLargeError"
    assert (answer["more_body"], end["body"]) == (True, b"")
    assert refused([b"12345"] * 1000, {})[1] == 8


def test_a_sender_that_waits_for_leave_is_refused_at_once() -> None:
    sent, taken = refused([b"12345"] * 4, {b"content-length": b"20", b"expect": b"100-continue"})
    assert ([message.get("status") for message in sent], taken) == ([413, None], 0)


def test_a_sender_that_leaves_within_its_body_is_not_served() -> None:
    messages: list[Message] = [{"type": "http.request", "body": b"{}", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(BodyLimitMiddleware(echo, 10)({"type": "http", "path": "/", "headers": []}, receive, send))
    assert [message.get("status") for message in sent] == [499, None]


def test_a_large_answer_is_compressed_where_that_is_accepted() -> None:
    content = b"token " * WORTH_IT
    answer = BodyLimitMiddleware(echo, len(content))
    plain = TestClient(answer).post("/", content=content, headers={"accept-encoding": "identity"})
    small = TestClient(answer).post("/", content=content, headers={"accept-encoding": "br, gzip"})
    assert plain.content == small.content == content
    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == "gzip"
    assert int(small.headers["content-length"]) < len(content) / 10
    assert plain.headers["vary"] == small.headers["vary"] == "accept-encoding"


def test_a_small_answer_is_not_compressed() -> None:
    answer = client().post("/", content=b"x" * (WORTH_IT - 1), headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in answer.headers


async def raw(scope: Scope, headers: list[tuple[bytes, bytes]], body: bytes, limit: int) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await BodyLimitMiddleware(echo, 1 << 20, lambda scope: limit)({**scope, "headers": headers}, receive, send)
    return sent


def answered(body: bytes, limit: int, accept: bytes | None) -> tuple[int, bytes]:
    headers = [] if accept is None else [(b"accept-encoding", accept)]
    start, end = asyncio.run(raw({"type": "http", "method": "POST", "path": "/"}, headers, body, limit))
    assert dict(start["headers"])[b"content-length"] == str(len(end["body"])).encode()
    return start["status"], end["body"]


@pytest.mark.parametrize("accept", [None, b"gzip", b"*"])
def test_an_answer_beyond_the_limit_is_compressed(accept: bytes | None) -> None:
    body = b"12 " * 100_000
    status, sent = answered(body, 200_000, accept)
    assert status == 200
    assert gzip.decompress(sent) == body
    assert size_as_base64(sent) <= 200_000


def test_escapes_count_towards_the_limit() -> None:
    quotes = b'"' * 1000
    assert answered(quotes, 2000, b"identity") == (200, quotes)
    assert answered(quotes, 1999, b"identity")[0] == 413


def test_base64_counts_towards_the_limit() -> None:
    body = bytes(range(32, 128)) * 30
    size = len(compressed(body))
    assert answered(body, size_as_base64(compressed(body)), None)[0] == 200
    assert answered(body, size, None)[0] == 413


def test_an_answer_that_cannot_be_made_to_fit_says_what_to_do() -> None:
    status, sent = answered(b"12 " * 100_000, 2000, b"identity")
    message = json.loads(sent)["error"]["message"]
    assert status == 413
    assert "mm_payload" in message
    assert "Accept-Encoding: gzip" in message
    status, sent = answered(b"12 " * 100_000, 300, b"gzip")
    assert status == 413
    assert "Accept-Encoding" not in json.loads(sent)["error"]["message"]


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    await StreamingResponse(iter(["a" * WORTH_IT, "b" * WORTH_IT]))(scope, receive, send)


def test_a_streamed_answer_passes_untouched() -> None:
    answer = client(stream).get("/", headers={"accept-encoding": "gzip"})
    assert answer.text == "a" * WORTH_IT + "b" * WORTH_IT
    assert "content-encoding" not in answer.headers


def test_a_streamed_answer_is_collected_where_there_is_a_limit() -> None:
    content = "a" * WORTH_IT + "b" * WORTH_IT
    assert client(stream, len(content)).get("/").text == content
    assert client(stream, len(content) - 1).get("/").status_code == 413
