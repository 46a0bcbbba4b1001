"""Answers end before the gateway gives up, and the engine's request with them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from renderlayer.served_model import ServedModel
from tests.events import http_api
from tests.runtime import Function, Outcome

PATH = "/v1/chat/completions"
CHAT = {"messages": [{"role": "user", "content": "Hello"}], "model": "small"}
STREAM_URL = "https://stream.example"
HANDLER = "functions.complete.app.handler"


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


def environment(server: ServedModel, url: str) -> dict[str, str]:
    return {
        "RENDERLAYER_MODEL": server.settings.model,
        "RENDERLAYER_SERVED_MODEL_NAME": "small",
        "RENDERLAYER_ENGINE_URL": url,
        "RENDERLAYER_STREAM_URL": STREAM_URL,
    }


def out_of_time(server: ServedModel, body: dict[str, Any], said: bytes = b"") -> Outcome:
    """What a function answers whose time ends while it waits for an engine that has said something.

    The least time is taken in which this machine gets as far as the engine.
    """
    for seconds in (3, 9, 27, 81):
        with engine(said) as (url, hung_up), Function(HANDLER, environment(server, url), seconds=seconds) as function:
            outcome = function.invoke(http_api(PATH, json.dumps(body)))
            assert outcome.ok, outcome.value
            if hung_up.wait(10):
                return outcome
    raise TimeoutError


def test_a_slow_engine_is_a_504_that_says_where_there_is_more_time(server: ServedModel) -> None:
    outcome = out_of_time(server, CHAT)
    error = json.loads(outcome.value["body"])["error"]
    assert (outcome.value["statusCode"], error["type"], error["code"]) == (504, "GatewayTimeoutError", 504)
    assert STREAM_URL in error["message"]


def test_a_stream_that_is_collected_ends_with_the_error(server: ServedModel) -> None:
    event = {"choices": [{"index": 0, "token_ids": [1], "finish_reason": None, "logprobs": None}], "request_id": "x"}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    outcome = out_of_time(server, {**CHAT, "stream": True}, head + f"data: {json.dumps(event)}\n\n".encode())
    assert STREAM_URL in outcome.value["body"]
    assert '"code":504' in outcome.value["body"]


@pytest.mark.parametrize("status", ["502 Bad Gateway", "504 Gateway Time-out", "503 Service Unavailable"])
def test_a_load_balancers_errors_mean_try_again(server: ServedModel, status: str) -> None:
    page = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>"
    with (
        engine(page.encode()) as (url, _),
        Function(HANDLER, environment(server, url)) as function,
    ):
        outcome = function.invoke(http_api(PATH, json.dumps(CHAT)))
    assert outcome.value["statusCode"] == 503
    assert outcome.value["headers"]["retry-after"] == "1"
