from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response

from renderlayer.http.aws.lambda_handler import LambdaHandler
from renderlayer.http.execution.work import COUNTS, count_tokens
from renderlayer.settings import Settings
from tests.events import FakeContext, http_api, load_balancer, rest_api

SECRET = "a very private prompt"

pytestmark = pytest.mark.usefixtures("fresh_log")


def application() -> FastAPI:
    app = FastAPI()

    @app.post("/work")
    async def work(request: Request) -> dict[str, Any]:
        logging.getLogger("renderlayer.render.chat").warning("something odd")
        answer = {"token_ids": [1, 2, 3], "text": (await request.body()).decode()}
        count_tokens(request.scope, answer)
        return answer

    @app.post("/refuse")
    async def refuse() -> Response:
        return Response(status_code=404)

    @app.post("/crash")
    async def crash(request: Request) -> None:
        raise KeyError((await request.body()).decode())

    return app


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls a new handler with events, as inside Lambda; what it wrote, line by line."""
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")

    def invoke(*events: dict[str, Any]) -> list[dict[str, Any]]:
        handler = LambdaHandler(application(), Settings(), "render")
        for event in events:
            handler(event, FakeContext())
        output = capsys.readouterr()
        assert SECRET not in output.out + output.err
        return [json.loads(line) for line in output.out.splitlines()]

    return invoke


def test_a_request_is_one_line_with_its_ids_duration_and_tokens(lines: Any) -> None:
    warning, line = lines(http_api("/work", SECRET, {"x-request-id": "mine"}))
    ids = {
        "request_id": "mine",
        "gateway_request_id": "FkZhYjXxliAEPTQ=",
        "function_request_id": "c6af9ac6-7b61-11e6-9a41-93e812345678",
        "trace_id": "Root=1-67a2f0c1-0123456789abcdef01234567",
    }
    assert line.items() >= ids.items()
    assert warning.items() >= {**ids, "level": "WARNING", "message": "something odd"}.items()
    assert line.items() >= {"level": "INFO", "method": "POST", "path": "/work", "status": 200}.items()
    assert line["prompt_tokens"] == 3
    assert 0 < line["duration_ms"] < 10_000
    assert line["response_bytes"] == len(json.dumps({"token_ids": [1, 2, 3], "text": SECRET}, separators=(",", ":")))


def test_the_line_is_a_record_of_the_embedded_metric_format(lines: Any) -> None:
    line = lines(http_api("/work", SECRET))[-1]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "renderlayer"
    assert directive["Dimensions"] == [["service"]]
    names = {metric["Name"] for metric in directive["Metrics"]}
    assert names == {"Duration", "PromptTokens", "ClientErrors", "ServerErrors", "ColdStarts"}
    assert line["service"] == "render"
    assert line["PromptTokens"] == [3]
    assert all(name in line for name in names)


def test_only_the_first_request_of_a_process_is_a_cold_start(lines: Any) -> None:
    first, second = lines(http_api("/refuse"), http_api("/refuse"))
    assert (first["cold_start"], second["cold_start"]) == (True, False)
    assert (first["ColdStarts"], second["ColdStarts"]) == ([1], [0])


def test_errors_are_counted_by_whose_they_are(lines: Any) -> None:
    (line,) = lines(http_api("/refuse"))
    assert (line["status"], line["ClientErrors"], line["ServerErrors"]) == (404, [1], [0])


def test_a_crash_is_logged_by_type_and_place_without_its_message(lines: Any) -> None:
    error, line = lines(http_api("/crash", SECRET))
    assert error["level"] == "ERROR"
    assert error["message"].startswith("request failed: KeyError at ")
    assert "test_access_log.py:" in error["message"]
    assert error["request_id"] == line["request_id"]
    assert (line["level"], line["status"], line["ServerErrors"]) == ("ERROR", 500, [1])


def test_ids_of_one_request_do_not_reach_the_next(lines: Any) -> None:
    first, second = lines(http_api("/refuse", headers={"x-request-id": "mine"}), load_balancer("/refuse"))
    assert first["request_id"] == "mine"
    assert "request_id" not in second
    assert "gateway_request_id" not in second


def test_a_long_id_is_cut(lines: Any) -> None:
    (line,) = lines(rest_api("/refuse", headers={"X-Request-Id": "x" * 5000}))
    assert line["request_id"] == "x" * 200


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        ({"token_ids": [5, 6]}, {"prompt_tokens": 2}),
        ([{"token_ids": [5, 6]}, {"token_ids": [7]}], {"prompt_tokens": 3}),
        ({"count": 9, "tokens": []}, {"prompt_tokens": 9}),
        ({"usage": {"prompt_tokens": 4, "completion_tokens": 2}}, {"prompt_tokens": 4, "completion_tokens": 2}),
        ({"usage": {"prompt_tokens": 4, "completion_tokens": None}}, {"prompt_tokens": 4}),
        ({"chunk": {"usage": {"completion_tokens": 2}}}, {"completion_tokens": 2}),
        ({"chunk": {"usage": None}}, {}),
        ({"prompt": "text"}, {}),
    ],
)
def test_counts(answer: Any, counts: dict[str, int]) -> None:
    scope: dict[str, Any] = {COUNTS: {}}
    count_tokens(scope, answer)
    assert scope[COUNTS] == counts
    nobody_listens: dict[str, Any] = {}
    count_tokens(nobody_listens, answer)
    assert nobody_listens == {}
