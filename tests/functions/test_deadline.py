"""Answers end before the gateway gives up, and the engine's request with them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from renderlayer.render.server import Server
from tests.events import http_api
from tests.runtime import Function

PATH = "/v1/chat/completions"
CHAT = {"messages": [{"role": "user", "content": "Hello"}], "model": "small"}
STREAM_URL = "https://stream.example"


@contextmanager
def engine(said: bytes = b"") -> Iterator[tuple[str, threading.Event]]:
    """An engine that says something at once, nothing more, and notices when it is hung up on."""
    hung_up = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(said)
                while connection.recv(1 << 16):
                    pass
                hung_up.set()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", hung_up


def environment(server: Server, url: str) -> dict[str, str]:
    return {
        "RENDERLAYER_MODEL": server.settings.model,
        "RENDERLAYER_SERVED_MODEL_NAME": "small",
        "RENDERLAYER_ENGINE_URL": url,
        "RENDERLAYER_STREAM_URL": STREAM_URL,
    }


def test_a_slow_engine_is_a_504_that_says_where_there_is_more_time(server: Server) -> None:
    with (
        engine() as (url, hung_up),
        Function("functions.complete.app.handler", environment(server, url), seconds=3) as f,
    ):
        outcome = f.invoke(http_api(PATH, json.dumps(CHAT)))
        assert outcome.ok, outcome.value
        assert hung_up.wait(30)
    error = json.loads(outcome.value["body"])["error"]
    assert (outcome.value["statusCode"], error["type"], error["code"]) == (504, "GatewayTimeoutError", 504)
    assert STREAM_URL in error["message"]


def test_a_stream_that_is_collected_ends_with_the_error(server: Server) -> None:
    event = {"choices": [{"index": 0, "token_ids": [1], "finish_reason": None, "logprobs": None}], "request_id": "x"}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with (
        engine(head + f"data: {json.dumps(event)}\n\n".encode()) as (url, hung_up),
        Function("functions.complete.app.handler", environment(server, url), seconds=3) as f,
    ):
        outcome = f.invoke(http_api(PATH, json.dumps({**CHAT, "stream": True})))
        assert outcome.ok, outcome.value
        assert hung_up.wait(30)
    assert STREAM_URL in outcome.value["body"]
    assert '"code":504' in outcome.value["body"]


@pytest.mark.parametrize("status", ["502 Bad Gateway", "504 Gateway Time-out", "503 Service Unavailable"])
def test_a_load_balancers_errors_mean_try_again(server: Server, status: str) -> None:
    page = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"
    with (
        engine(page.encode()) as (url, _),
        Function("functions.complete.app.handler", environment(server, url)) as function,
    ):
        outcome = function.invoke(http_api(PATH, json.dumps(CHAT)))
    assert outcome.value["statusCode"] == 503
    assert outcome.value["headers"]["retry-after"] == "1"
