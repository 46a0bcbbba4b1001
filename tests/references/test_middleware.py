"""The middleware over Starlette: what reaches the engine is what an inline request would have been."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.references import ResolveReferences
from renderlayer.references.address import Place
from renderlayer.references.middleware import PATH
from renderlayer.settings import Settings
from renderlayer.storage.s3 import PIECE, S3Store
from tests.references.engines import ask, base64_of, engine, request, slots_of, stored
from tests.references.faults import FaultyStore


@pytest.mark.parametrize("size", [1, 2, 3, PIECE, PIECE + 1, 2 * PIECE + 2])
def test_the_body_is_that_of_an_inline_request(store: S3Store, place: Place, size: int) -> None:
    data, other = os.urandom(size), os.urandom(7)
    first, second = stored(store, place, data), stored(store, place, other)
    body = request(first, "QUJD", None, second, first)
    (answer,) = ask(engine(place, store), body)
    assert answer.status_code == 200
    inline = request(base64_of(data), "QUJD", None, base64_of(other), base64_of(data))
    assert answer.json() == {"body": json.dumps(inline), "right": True}


def test_metadata_and_escaped_slashes(store: S3Store, place: Place) -> None:
    address = stored(store, place, b"meta")
    body = request("QUJD")
    body["features"]["mm_metadata"]["image"] = [str(address)]
    (answer,) = ask(engine(place, store), json.dumps(body).replace("/", "\\/").encode())
    assert json.loads(answer.json()["body"])["features"]["mm_metadata"]["image"] == [base64_of(b"meta")]


def test_fetched_once_then_from_memory(place: Place, faulty: FaultyStore, faulty_store: S3Store) -> None:
    data = os.urandom(100_000)
    address = stored(faulty_store, place, data)
    faulty.requests.clear()
    app = engine(place, faulty_store)
    for answer in [*ask(app, *[request(address)] * 50), *ask(app, request(address, address))]:
        assert set(slots_of(answer)) == {base64_of(data)}
    assert faulty.count("GET") == 1
    looked = faulty.count("HEAD")
    ask(app, request(address))
    assert faulty.count("HEAD") == looked


def test_text_elsewhere_is_no_reference(place: Place, faulty: FaultyStore, faulty_store: S3Store) -> None:
    address = str(place.address("f", "n"))
    body = request("QUJD", parse_context={"chat_template_kwargs": {"kwargs_data": [address]}}, note=address)
    (answer,) = ask(engine(place, faulty_store), body)
    assert json.loads(answer.json()["body"]) == body
    assert faulty.requests == []


class Recorder:
    """An application that keeps what it was called with and reads its body."""

    def __init__(self) -> None:
        self.received: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        if scope["type"] != "http":
            return
        while True:
            message = await receive()
            self.received.append(message)
            if message["type"] == "http.disconnect":
                return


def handed_on(messages: list[Any], place: Place, path: str = PATH) -> tuple[dict[str, Any], Recorder]:
    """Call the middleware with those messages, then a disconnect; the scope and what reached the application."""
    app = Recorder()
    settings = Settings(reference_bucket=place.bucket, reference_prefix=place.prefix)
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"content-type", b"application/json")]}
    incoming = iter([*messages, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(incoming)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    asyncio.run(ResolveReferences(app, settings)(scope, receive, send))
    return scope, app


BODY = json.dumps(request("QUJD")).encode()


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "http.request", "body": BODY}],
        [{"type": "http.request", "body": BODY[:9], "more_body": True}, {"type": "http.request", "body": BODY[9:]}],
        [{"type": "http.request", "body": b"{not json s4://"}],
        [{"type": "http.request", "body": b'{"features":{"kwargs_data":{"image":["s3://', "more_body": True}],
        [],
    ],
    ids=["whole", "chunks", "no JSON", "a client that leaves", "no body"],
)
def test_without_references_the_very_messages_are_handed_on(messages: list[Any], place: Place) -> None:
    scope, app = handed_on(messages, place)
    assert app.scope is scope
    assert [id(message) for message in app.received[: len(messages)]] == [id(message) for message in messages]
    assert app.received[-1] == {"type": "http.disconnect"}


def test_other_paths_are_not_read(place: Place) -> None:
    body = json.dumps(request(place.address("f", "n"))).encode()
    _, app = handed_on([{"type": "http.request", "body": body}], place, "/v1/chat/completions")
    assert app.received[0]["body"] is body


def test_a_chunked_request_gets_no_length(store: S3Store, place: Place) -> None:
    address = stored(store, place, b"abc")
    _, app = handed_on([{"type": "http.request", "body": json.dumps(request(address)).encode()}], place)
    assert app.scope["headers"] == [(b"content-type", b"application/json")]
    *body, last = app.received
    assert last == {"type": "http.disconnect"}
    assert [message["more_body"] for message in body] == [True] * (len(body) - 1) + [False]
    assert json.loads(b"".join(message["body"] for message in body)) == request("YWJj")


@pytest.mark.parametrize("variable", ["VLLM_API_KEY", "RENDERLAYER_API_KEY"])
def test_nothing_is_fetched_for_callers_without_the_key(
    place: Place, faulty: FaultyStore, faulty_store: S3Store, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    address = stored(faulty_store, place, b"abc")
    faulty.requests.clear()
    monkeypatch.setenv(variable, "secret")
    app = engine(place, faulty_store, api_key=Settings.from_environment().api_key)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
        (answer,) = ask(app, request(address), headers=headers)
        assert slots_of(answer) == [str(address)]
    assert faulty.requests == []
    (answer,) = ask(app, request(address), headers={"Authorization": "bearer secret"})
    assert slots_of(answer) == ["YWJj"]


def test_needs_a_place_to_read_from() -> None:
    with pytest.raises(ConfigurationError, match="RENDERLAYER_REFERENCE_BUCKET"):
        ResolveReferences(Recorder(), Settings())


def test_configured_by_the_environment(store: S3Store, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    address = stored(store, place, b"abc")
    monkeypatch.setenv("RENDERLAYER_REFERENCE_ALLOWED", f"elsewhere/x, {place.bucket}/{place.prefix}")
    app = Recorder()
    body = {"type": "http.request", "body": json.dumps(request(address)).encode()}
    incoming = iter([body, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(incoming)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": f"/prefix{PATH}", "headers": []}
    asyncio.run(ResolveReferences(app)(scope, receive, send))
    assert b"YWJj" in b"".join(message.get("body", b"") for message in app.received)


def test_every_occurrence_counts(store: S3Store, place: Place) -> None:
    address = stored(store, place, os.urandom(300_000))
    app = engine(place, store, reference_cache_bytes=1_000_000)
    once, twice, often = ask(app, request(address), request(*[address] * 2), request(*[address] * 20))
    assert (once.status_code, twice.status_code, often.status_code) == (200, 200, 413)


def test_deep_nesting_is_the_clients_fault(store: S3Store, place: Place) -> None:
    address = stored(store, place, b'{"token_ids": [1]}')
    deep = b'{"request_ref": "%s", "x": %s}' % (str(address).encode(), b"[" * 100_000 + b"]" * 100_000)
    (answer,) = ask(engine(place, store), deep)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "content", [b'{"token_ids": [1}', b'{"a"', b"[1]", b'{"request_ref": "s3://x"}', b'{"' * 99_999]
)
def test_claims_of_broken_json_are_refused(store: S3Store, place: Place, content: bytes) -> None:
    (answer,) = ask(engine(place, store), {"request_ref": str(stored(store, place, content))})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "request_ref")


def test_bodies_with_references_have_a_largest_size(store: S3Store, place: Place) -> None:
    app, address, note = engine(place, store, max_body_bytes=5000), stored(store, place, b"data"), "x" * 5000
    fits, large, without = ask(app, request(address), request(address, note=note), request("QUJD", note=note))
    assert (fits.status_code, large.status_code, without.status_code) == (200, 413, 200)
