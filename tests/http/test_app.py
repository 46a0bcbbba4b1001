"""The application as a client sees it: envelope, auth, request ids, status routes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from renderlayer.http.app import create_app
from renderlayer.served_model import ServedModel

CHAT = "/v1/chat/completions/render"
DERENDER = "/v1/chat/completions/derender"
JSON = {"content-type": "application/json"}
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


def client(server: ServedModel, **settings: Any) -> TestClient:
    changed = replace(server.settings, **settings)
    app = create_app(changed, server=ServedModel(server.model, changed))
    return TestClient(app, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def http(server: ServedModel) -> Iterator[TestClient]:
    with client(server) as opened:
        yield opened


def test_status_routes(http: TestClient) -> None:
    assert (http.get("/health").status_code, http.get("/health").content) == (200, b"")
    assert http.get("/ping").status_code == http.post("/ping").status_code == 200
    assert http.get("/load").json() == {"server_load": 0}
    assert http.get("/version").json()["version"].startswith("0.33.0")


def test_the_description_of_the_api_names_every_route_once(http: TestClient) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    assert {"get", "post"} == set(paths["/ping"])
    names = [operation["operationId"] for path in paths.values() for operation in path.values()]
    assert len(names) == len(set(names))


def test_model_cards(server: ServedModel) -> None:
    with client(server, served_model_name=["one", "two"]) as http:
        cards = http.get("/v1/models").json()["data"]
    assert [card["id"] for card in cards] == ["one", "two"]
    assert cards[0]["max_model_len"] == server.max_model_len
    assert cards[0]["permission"][0]["id"].startswith("modelperm-")


def test_render_over_http(http: TestClient) -> None:
    answer = http.post(CHAT, json=HELLO, headers={"X-Request-Id": "abc"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["request_id"] == "chatcmpl-abc"
    assert answer.text == json.dumps(answer.json(), separators=(",", ":"), ensure_ascii=False)


def test_small_floats_are_written_as_the_reference_writes_them(http: TestClient) -> None:
    answer = http.post(CHAT, json={**HELLO, "min_p": 0.00001})
    assert b'"min_p":0.00001' in answer.content


@pytest.mark.parametrize("path", ["/v1/nope", "/inference/v1/generate"])
def test_unknown_routes(http: TestClient, path: str) -> None:
    answer = http.post(path, json={})
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFoundError")
    assert path in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"])
def test_a_front_door_without_an_engine_says_what_is_missing(http: TestClient, path: str) -> None:
    answer = http.post(path, json=HELLO)
    assert answer.status_code == 404
    assert "--engine-url" in answer.json()["error"]["message"]
    assert (answer.json().get("type") == "error") == (path == "/v1/messages")


@pytest.mark.parametrize("path", ["/v1/models", "/health", "/v1/models/small"])
def test_a_slash_at_the_end_and_head(http: TestClient, path: str) -> None:
    answer = http.get(path, follow_redirects=False)
    assert answer.status_code == 200
    assert http.get(f"{path}/", follow_redirects=False).status_code == 200
    assert http.head(path).status_code == 200
    assert http.post(f"{CHAT}/", json=HELLO, follow_redirects=False).status_code == 200


def test_one_model(http: TestClient) -> None:
    assert http.get("/v1/models/small").json()["id"] == "small"
    error = http.get("/v1/models/other/one").json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("NotFoundError", 404, "model")


def test_wrong_method(http: TestClient) -> None:
    answer = http.get(CHAT)
    assert (answer.status_code, answer.json()["error"]["type"]) == (405, "MethodNotAllowedError")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}])
def test_other_content_types(http: TestClient, headers: dict[str, str]) -> None:
    answer = http.post(CHAT, content=json.dumps(HELLO), headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["param"], error["code"]) == (400, "Bad Request", None, 400)


def test_content_type_is_read_without_case_and_parameters(http: TestClient) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    assert http.post(CHAT, content=json.dumps(HELLO), headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", "body"),
        (b"{", "body.1"),
        (b'{"messages": }', "body.13"),
        (b"[]", "body"),
        (b'"x"', "body"),
        (b"\xff\xfe{}", "body.0"),
        (b"[" * 100_000, None),
        (b'{"a":' + b"9" * 5000 + b"}", "body.0"),
    ],
    ids=["empty", "cut", "no value", "list", "string", "not utf-8", "deep", "long number"],
)
def test_bodies_that_are_no_request(http: TestClient, body: bytes, param: str | None) -> None:
    answer = http.post(CHAT, content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param
    assert answer.json()["error"]["message"]


def test_a_lone_surrogate_that_would_reach_the_answer(http: TestClient) -> None:
    body = b'{"messages":[{"role":"user","content":"x"}],"vllm_xargs":{"k":"\\ud800"}}'
    answer = http.post(CHAT, content=body, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "BadRequestError")


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        (
            CHAT,
            {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b\ud800"}]},
            "messages[1].content",
        ),
        (CHAT, {"messages": [{"role": "user", "content": "a"}], "vllm_xargs": {"k": "\ud800"}}, "vllm_xargs.k"),
        (CHAT, {"messages": [{"role": "user", "content": "a"}], "vllm_xargs": {"\ud800": "k"}}, "a key of vllm_xargs"),
        ("/v1/completions/render", {"prompt": ["a", "\udfff"]}, "prompt[1]"),
        ("/tokenize", {"prompt": "\ud800"}, "prompt"),
        ("/v1/responses/render", {"input": "\ud800"}, "input"),
        (
            "/v1/messages/render",
            {"max_tokens": 9, "messages": [{"role": "user", "content": "\ud800"}]},
            "messages[0].content",
        ),
    ],
)
def test_the_refusal_of_a_lone_surrogate_says_where_it_is(http: TestClient, path: str, body: Any, place: str) -> None:
    answer = http.post(path, content=json.dumps({"model": "small", **body}), headers=JSON)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["param"]) == (400, "BadRequestError", None)
    assert error["message"].startswith(f"{place}: 'utf-8' codec can't encode character")


@pytest.mark.parametrize("value", [math.inf, math.nan, "\ud800"], ids=["infinite", "no number", "surrogate"])
def test_what_json_cannot_hold_does_not_reach_an_answer(http: TestClient, value: Any) -> None:
    generated = {"choices": [{"index": 0, "token_ids": [1]}], "kv_transfer_params": {"k": value}}
    answer = http.post(DERENDER, content=json.dumps({"generate_response": generated}), headers=JSON)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "BadRequestError")


def test_what_json_cannot_hold_does_not_reach_a_stream(http: TestClient) -> None:
    good, bad = (
        b'data: {"request_id":"%s","choices":[{"index":0,"token_ids":[70]}]}\n\n' % name for name in (b"a", b"\\ud800")
    )
    refused, broken = (
        http.post(DERENDER, content=content, headers={"content-type": "text/event-stream"})
        for content in (bad, good + bad)
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, 400)
    *told, error, done, _ = broken.text.split("\n\n")
    assert json.loads(told[0].removeprefix("data: "))["choices"]
    assert (json.loads(error.removeprefix("data: "))["error"]["code"], done) == (400, "data: [DONE]")


def test_a_body_beyond_the_limit(server: ServedModel) -> None:
    with client(server, max_body_bytes=1000) as http:
        answer = http.post(CHAT, content=b"x" * 2000, headers=JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, 413)


def test_unknown_keys_are_ignored(http: TestClient) -> None:
    assert http.post(CHAT, json={**HELLO, "session_id": "s", "nvext": {"a": 1}}).status_code == 200


@pytest.fixture(scope="module")
def guarded(server: ServedModel) -> Iterator[TestClient]:
    with client(server, api_key=["first", "second"]) as opened:
        yield opened


@pytest.mark.parametrize("header", ["Bearer first", "bearer second", "BEARER first"])
def test_known_keys_pass(guarded: TestClient, header: str) -> None:
    assert guarded.post(CHAT, json=HELLO, headers={"Authorization": header}).status_code == 200


@pytest.mark.parametrize("header", ["", "first", "Bearer", "Bearer third", "Basic first", "Bearer firstx"])
def test_other_keys_do_not(guarded: TestClient, header: str) -> None:
    answer = guarded.post(CHAT, json=HELLO, headers={"Authorization": header} if header else {})
    assert (answer.status_code, answer.content) == (401, b'{"error":"Unauthorized"}')


def test_request_ids_are_echoed_when_told(server: ServedModel) -> None:
    with client(server, enable_request_id_headers=True) as http:
        assert http.get("/health", headers={"X-Request-Id": "abc"}).headers["x-request-id"] == "abc"
        assert len(http.get("/health").headers["x-request-id"]) == 32
        for odd in (b"a\x01b", b"\x1b[31m", b"\x7f"):
            assert len(http.get("/health", headers={b"X-Request-Id": odd}).headers["x-request-id"]) == 32


def test_what_was_left_out_of_a_request_is_told_in_a_header(http: TestClient) -> None:
    future = {"type": "of_the_future\n\u20ac"}
    answer = http.post("/v1/responses/render", json={"input": [{"role": "user", "content": "Hi"}, future]})

    assert answer.status_code == 200
    assert "input item 1 of type 'of_the_future" in answer.headers["x-renderlayer-warning"]
    assert "x-renderlayer-warning" not in http.post("/v1/responses/render", json={"input": "Hi"}).headers


def test_tokens_of_messages_are_counted_and_errors_have_anthropics_form(http: TestClient) -> None:
    body = {"model": "small", "messages": [{"role": "user", "content": "A"}]}
    rendered = http.post("/v1/messages/render", json={**body, "max_tokens": 9}).json()
    unknown = http.post("/v1/messages/count_tokens", json={**body, "model": "x"})
    empty = http.post("/v1/messages/count_tokens", json={})

    assert http.post("/v1/messages/count_tokens", json=body).json() == {"input_tokens": len(rendered["token_ids"])}
    assert (unknown.status_code, unknown.json()["type"], unknown.json()["error"]["type"]) == (
        *(404, "error"),
        "not_found_error",
    )
    assert (empty.status_code, empty.json()["error"]["type"]) == (400, "invalid_request_error")
    assert "param" in http.post("/v1/messages/render", json={}).json()["error"]


@pytest.mark.parametrize(("query", "tells"), [("", False), ("?engines=true", True), ("?engines=maybe", False)])
def test_readiness_of_several_engines(server: ServedModel, query: str, tells: bool) -> None:
    """Nobody listens at either."""
    urls = "http://127.0.0.1:9,http://127.0.0.1:10"
    settings = replace(server.settings, engine_url=urls)
    app = create_app(settings, server=replace(server, settings=settings))
    answer = TestClient(app).get(f"/readyz{query}")
    assert answer.status_code == 503
    told = answer.json().get("engines")
    assert (told is not None) == tells
    assert not tells or [one["engine"] for one in told] == urls.split(",")
