"""The runtime that sends answers while they are made, against the Runtime API's stand-in."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from renderlayer.derender.core import sse
from renderlayer.http.aws.runtime import RuntimeAnswer
from renderlayer.served_model import ServedModel
from tests.derender.engine import encoded, events, split
from tests.events import function_url
from tests.runtime import Function, Outcome

SAID = "Hello there, good day!"
RUNTIME = "renderlayer.http.aws.runtime"
WAIT = 60
"""Seconds in which a token that was sent must be heard of."""
CHAT = {"messages": [{"role": "user", "content": "Say hello."}], "stream": True}
PATH = "/v1/chat/completions"


def nothing(what: object) -> None:
    """Do it."""


@contextmanager
def engine(told: list[bytes], breaks: bool = False, goes_on: Callable[[int], None] = nothing) -> Iterator[str]:
    """An engine's address; it sends these events, and may break off where it should end.

    Args:
        goes_on: called before each event with its number.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(sum(map(len, told)) + breaks))
            self.end_headers()
            for at, event in enumerate(told):
                goes_on(at)
                self.wfile.write(event)
                self.wfile.flush()
            self.close_connection = True

        def log_message(self, *details: object) -> None:
            """Nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(server: ServedModel) -> Callable[..., Outcome]:
    """Sends one request to the function over an engine that says the same to everybody."""
    told = [*map(sse.event, events(split(encoded(server, SAID), [1, 2, 3]))), sse.DONE]

    def sent(
        body: dict[str, Any], breaks: bool = False, goes_on: Callable[[int], None] = nothing, hears: Any = nothing
    ) -> Outcome:
        with engine(told[:-2] if breaks else told, breaks, goes_on) as url:
            environment = {
                "RENDERLAYER_MODEL": server.settings.model,
                "RENDERLAYER_SERVED_MODEL_NAME": "small",
                "RENDERLAYER_ENGINE_URL": url,
            }
            with Function("functions.stream.app.handler", environment, RUNTIME, hears) as function:
                return function.invoke(function_url(PATH, json.dumps(body)))

    return sent


def contents(body: str) -> str:
    chunks = [json.loads(line.removeprefix("data: ")) for line in body.split("\n\n") if line.startswith("data: {")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])


def test_tokens_are_sent_as_they_come(ask: Callable[..., Outcome]) -> None:
    """The engine keeps the last ones back until the caller has heard the first."""
    heard = threading.Event()
    in_time: list[bool] = []

    def hears(part: bytes) -> None:
        if b'"content":"' in part and b'"content":""' not in part:
            heard.set()

    def goes_on(at: int) -> None:
        if at == 3:
            in_time.append(heard.wait(WAIT))

    outcome = ask(CHAT, goes_on=goes_on, hears=hears)
    assert in_time == [True]
    assert outcome.ok, outcome.value
    assert outcome.value["statusCode"] == 200
    assert outcome.value["headers"]["content-type"].startswith("text/event-stream")
    assert contents(outcome.value["body"]) == SAID
    assert outcome.value["body"].endswith("data: [DONE]\n\n")


def test_an_engine_that_breaks_off_is_an_event(ask: Callable[..., Outcome]) -> None:
    outcome = ask(CHAT, breaks=True)
    assert outcome.ok
    *_, last, done = outcome.value["body"].split("\n\n")[:-1]
    assert json.loads(last.removeprefix("data: "))["error"]["code"] in (502, 503)
    assert done == "data: [DONE]"


def test_what_is_wrong_before_the_first_token_is_an_ordinary_error(ask: Callable[..., Outcome]) -> None:
    outcome = ask({**CHAT, "messages": "none"})
    assert outcome.ok
    assert outcome.value["statusCode"] == 400
    assert json.loads(outcome.value["body"])["error"]["param"] == "body.messages"


class Broken:
    """A handler that fails before or in the middle of its answer."""

    def stream(self, event: dict[str, Any], context: Any, answer: RuntimeAnswer) -> None:
        if event["begin"]:
            answer.begin(
                200, [(b"Set-Cookie", b"a=1"), (b"X-Left", str(context.get_remaining_time_in_millis()).encode())]
            )
            answer.write(b"half of i")
        raise LookupError("a private prompt")


broken = Broken()


def test_a_failure_is_reported_without_its_message() -> None:
    with Function("tests.functions.test_stream.broken", None, RUNTIME) as function:
        late = function.invoke({"begin": True})
        early = function.invoke({"begin": False})
        assert "private" not in function.output()
    assert not late.ok
    assert (late.value["cookies"], late.value["body"][:9]) == (["a=1"], "half of i")
    assert 0 < int(late.value["headers"]["x-left"]) <= 120_000
    assert late.value["error"]["Lambda-Runtime-Function-Error-Type"] == "LookupError"
    assert not early.ok
    assert early.value["errorType"] == "LookupError"
    assert "private" not in json.dumps([early.value, late.value])


def test_a_handler_that_cannot_be_loaded_is_told_at_start() -> None:
    with Function(
        "functions.stream.app.handler", {"RENDERLAYER_MODEL": "/nowhere"}, "renderlayer.http.aws.runtime"
    ) as function:
        outcome = function.invoke({})
    assert not outcome.ok
    assert outcome.value["errorType"].endswith("ConfigurationError")
    assert "/nowhere" in outcome.value["errorMessage"]


def test_events_that_are_no_requests_are_told_apart_and_end_nothing(server: ServedModel) -> None:
    environment = {"RENDERLAYER_MODEL": server.settings.model, "RENDERLAYER_ENGINE_URL": "http://127.0.0.1:9"}
    with Function("functions.stream.app.handler", environment, RUNTIME) as function:
        malformed = function.invoke({**function_url(PATH), "headers": None})
        assert malformed.ok, malformed.value
        assert malformed.value["statusCode"] == 400
        assert "malformed" in json.loads(malformed.value["body"])["error"]["message"]
        assert not function.invoke({"Records": [{"eventSource": "aws:sqs", "body": "x"}]}).ok
        assert function.invoke(function_url("/health", method="GET")).value["statusCode"] == 200
