"""The streaming runtime where things go wrong around it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.http.aws.runtime import RuntimeAnswer
from renderlayer.served_model import ServedModel
from tests.events import function_url
from tests.runtime import Function

RUNTIME = "renderlayer.http.aws.runtime"


class Repeating:
    """A handler that repeats a header."""

    def stream(self, event: dict[str, Any], context: Any, answer: RuntimeAnswer) -> None:
        answer.begin(
            200, [(b"Vary", b"accept-encoding"), (b"vary", b"origin"), (b"Set-Cookie", b"a=1"), (b"set-cookie", b"b=2")]
        )


repeating = Repeating()


def test_repeated_headers_survive() -> None:
    with Function("tests.functions.test_runtime.repeating", None, RUNTIME) as function:
        answer = function.invoke({}).value
    assert answer["headers"]["vary"] == "accept-encoding, origin"
    assert answer["cookies"] == ["a=1", "b=2"]


def test_lines_are_there_before_the_process_is_killed(server: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    environment = {"RENDERLAYER_MODEL": server.settings.model, "RENDERLAYER_ENGINE_URL": "http://127.0.0.1:9"}
    with Function("functions.stream.app.handler", environment, RUNTIME) as function:
        assert function.invoke(function_url("/health", method="GET")).ok
        lines = function.output().splitlines()
    assert json.loads(lines[-1])["message"] == "request"


@pytest.mark.parametrize("raw", [b"{", b"\xff", b"[1, 2"])
def test_an_event_that_is_no_json_ends_nothing(raw: bytes) -> None:
    with Function("tests.functions.test_runtime.repeating", None, RUNTIME) as function:
        failed = function.invoke_raw(raw)
        assert not failed.ok
        assert failed.value["errorType"] in ("JSONDecodeError", "UnicodeDecodeError")
        assert function.invoke({}).ok


def test_a_lost_connection_to_the_runtime_api_ends_nothing() -> None:
    with Function("tests.functions.test_runtime.repeating", None, RUNTIME) as function:
        assert function.invoke({}).ok
        function.hang_up()
        assert function.invoke({}).ok


def test_a_process_whose_runtime_api_is_gone_ends() -> None:
    with Function("tests.functions.test_runtime.repeating", None, RUNTIME) as function:
        assert function.invoke({}).ok
        assert function.end_of_runtime_api() == 1
