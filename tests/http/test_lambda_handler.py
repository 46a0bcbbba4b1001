from __future__ import annotations

import base64
import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from renderlayer.errors import ConfigurationError
from renderlayer.http.aws.lambda_handler import LambdaHandler
from renderlayer.http.middleware.body_limit import compressed
from renderlayer.settings import Settings
from tests.events import SOURCES, FakeContext, function_url, http_api, load_balancer, rest_api

pytestmark = pytest.mark.usefixtures("fresh_log")

MEGABYTE = 1 << 20


def application() -> FastAPI:
    app = FastAPI()

    @app.post("/echo")
    async def echo(request: Request) -> Response:
        return Response(await request.body(), media_type="application/json")

    @app.get("/health")
    async def health() -> Response:
        return Response()

    @app.post("/numbers/{megabytes}")
    async def numbers(megabytes: int) -> Response:
        return Response(b"[" + b"12345," * (megabytes * MEGABYTE // 6) + b"0]", media_type="application/json")

    return app


def invoke(event: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    return LambdaHandler(application(), settings or Settings(), "render")(event, FakeContext())


def content(result: dict[str, Any]) -> bytes:
    body: str = result["body"]
    return base64.b64decode(body) if result["isBase64Encoded"] else body.encode()


@pytest.mark.parametrize("source", SOURCES)
def test_text_goes_in_and_comes_out(source: Any) -> None:
    result = invoke(source("/echo", '{"text":"früh ☕"}'))
    assert result["statusCode"] == 200
    assert result["isBase64Encoded"] is False
    assert result["body"] == '{"text":"früh ☕"}'
    assert result["headers"]["content-type"] == "application/json"
    json.dumps(result)


@pytest.mark.parametrize("source", SOURCES)
def test_a_get_without_body(source: Any) -> None:
    result = invoke(source("/health", method="GET"))
    assert (result["statusCode"], result["body"]) == (200, "")


@pytest.mark.parametrize("source", SOURCES)
def test_base64_bodies_are_decoded(source: Any) -> None:
    assert content(invoke(source("/echo", b'{"a":1}'))) == b'{"a":1}'


@pytest.mark.parametrize("source", SOURCES)
def test_bytes_that_are_not_utf8_come_out_as_base64(source: Any) -> None:
    result = invoke(source("/echo", b'"\xed\xa0\x80"'))
    assert result["isBase64Encoded"] is True
    assert content(result) == b'"\xed\xa0\x80"'


@pytest.mark.parametrize("source", SOURCES)
def test_gzip_bodies_are_inflated(source: Any) -> None:
    assert content(invoke(source("/echo", compressed(b'{"a":1}'), {"content-encoding": "gzip"}))) == b'{"a":1}'


@pytest.mark.parametrize("source", SOURCES)
def test_a_gzip_bomb_gets_413(source: Any) -> None:
    event = source("/echo", compressed(bytes(3 * MEGABYTE)), {"content-encoding": "gzip"})
    result = invoke(event, Settings(max_body_bytes=MEGABYTE))
    assert result["statusCode"] == 413
    assert json.loads(content(result))["error"]["code"] == 413


@pytest.mark.parametrize("source", SOURCES)
def test_a_large_answer_is_compressed_where_that_is_accepted(source: Any) -> None:
    result = invoke(source("/numbers/1", headers={"accept-encoding": "gzip"}))
    assert result["isBase64Encoded"] is True
    assert result["headers"]["content-encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(content(result)))) > 100_000


@pytest.mark.parametrize("source", [http_api, rest_api, function_url])
def test_an_answer_beyond_six_megabytes(source: Any) -> None:
    refused = invoke(source("/numbers/7", headers={"accept-encoding": "identity"}))
    assert refused["statusCode"] == 413
    assert "mm_payload" in json.loads(content(refused))["error"]["message"]
    result = invoke(source("/numbers/7"))
    assert result["statusCode"] == 200
    assert len(gzip.decompress(content(result))) > 7_000_000
    assert len(json.dumps(result)) < 6 * MEGABYTE


def test_a_load_balancer_takes_one_megabyte() -> None:
    refused = invoke(load_balancer("/numbers/1", headers={"accept-encoding": "identity"}))
    assert refused["statusCode"] == 413
    assert len(json.dumps(invoke(load_balancer("/numbers/1")))) < MEGABYTE


def test_without_a_limit_every_answer_is_given() -> None:
    event = http_api("/numbers/7", headers={"accept-encoding": "identity"})
    assert invoke(event, Settings(max_response_bytes=0))["statusCode"] == 200


@pytest.mark.parametrize("source", SOURCES)
def test_pages_of_allowed_origins_may_call_a_function(source: Any) -> None:
    page = "https://page.example"
    settings = Settings(allowed_origins=[page], api_key=["secret"])
    asked = {"Origin": page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = invoke(source("/echo", "", asked, "OPTIONS"), settings)
    assert (preflight["statusCode"], preflight["headers"]["access-control-allow-origin"]) == (200, page)
    answer = invoke(source("/echo", "{}", {"Origin": page}), settings)
    assert (answer["statusCode"], answer["headers"]["access-control-allow-origin"]) == (200, page)
    other = invoke(source("/echo", "{}", {"Origin": "https://other.example"}), settings)
    assert "access-control-allow-origin" not in other["headers"]


def test_the_stage_of_an_http_api_is_no_part_of_the_route() -> None:
    assert content(invoke(http_api("/echo", "{}", stage="prod"))) == b"{}"
    assert invoke(http_api("/prod/echo", "{}"))["statusCode"] == 404


def test_the_stage_of_a_rest_api_is_not_in_its_paths() -> None:
    event = rest_api("/echo", "{}")
    event["requestContext"]["stage"] = "echo"
    assert content(invoke(event)) == b"{}"


@pytest.mark.parametrize("source", SOURCES)
def test_the_prefix_of_a_custom_domain_is_no_part_of_the_route(source: Any) -> None:
    settings = Settings(root_path="/base")
    assert content(invoke(source("/base/echo", "{}"), settings)) == b"{}"
    assert content(invoke(source("/echo", "{}"), settings)) == b"{}"
    assert invoke(source("/basement/echo", "{}"), settings)["statusCode"] == 404


@pytest.mark.parametrize(
    "changed",
    [
        {"headers": None},
        {"headers": {"content-type": None}},
        {"requestContext": {}},
        {"requestContext": None},
        {"body": 5},
        {"body": "\ud800"},
        {"body": "é", "isBase64Encoded": True},
    ],
    ids=str,
)
def test_an_http_event_that_lacks_its_form_is_a_bad_request(changed: dict[str, Any]) -> None:
    result = invoke({**http_api("/echo", "{}"), **changed})
    json.dumps(result)
    error = json.loads(content(result))["error"]
    assert (result["statusCode"], error["code"], error["type"]) == (400, 400, "BadRequestError")
    assert "malformed" in error["message"]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"Records": [{"eventSource": "aws:sqs", "body": "secret"}]},
        {"Records": [{"eventSource": "aws:s3", "s3": {"object": {"key": "secret"}}}]},
        {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}},
        {"requestContext": None},
        None,
        "text",
        [1],
    ],
    ids=str,
)
def test_an_event_of_another_kind_fails_and_says_why(event: Any) -> None:
    with pytest.raises(ConfigurationError, match="HTTP API, a REST API") as caught:
        invoke(event)
    assert "secret" not in str(caught.value)


def test_concurrent_calls_from_many_threads() -> None:
    app = FastAPI()
    together = threading.Barrier(8, timeout=300)

    @app.post("/meet/{number}")
    async def meet(number: int) -> int:
        await run_in_threadpool(together.wait)
        return number

    handler = LambdaHandler(app, Settings(), "render")

    def call(number: int) -> str:
        body: str = handler(http_api(f"/meet/{number}"), FakeContext())["body"]
        return body

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(call, range(24))) == [str(number) for number in range(24)]
