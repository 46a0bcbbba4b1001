"""The description of the API, against what is served."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from starlette.routing import Route
from starlette.testclient import TestClient

from renderlayer.http.app import create_app
from renderlayer.http.application import Application
from renderlayer.http.batches import create_batch_app
from renderlayer.http.complete import complete_endpoints
from renderlayer.http.openapi import description
from renderlayer.http.openapi.build import OPERATIONS
from renderlayer.http.openapi.examples import ANSWER, MODEL
from renderlayer.http.openapi.operation import Operation
from renderlayer.http.server.metrics import PATH as METRICS
from renderlayer.pipeline.engine import Engine
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.pipeline.mocked import MockEngine
from tests.runtime import ROOT

KEY = {"authorization": "Bearer key"}
POSTS = [
    pytest.param(operation, body, id=f"{operation.name}: {name}")
    for operation in OPERATIONS
    if operation.tag != "batches"
    for name, body in operation.examples.items()
]


def generated(request: httpx2.Request) -> httpx2.Response:
    asked = json.loads(request.content)
    choice = {"index": 0, "token_ids": ANSWER[:1], "finish_reason": "stop"}
    answer = {"request_id": asked["request_id"], "choices": [choice]}
    return httpx2.Response(200, json=answer)


@pytest.fixture(scope="module")
def clients(server: ServedModel) -> Iterator[dict[str, TestClient]]:
    """By tag: what works with the model under the examples' name, and a front door whose engine answers one token."""
    flags = {"served_model_name": [MODEL], "tool_call_parser": "hermes", "enable_auto_tool_choice": True}
    settings = replace(server.settings, api_key=["key"], **flags)
    renamed = ServedModel(server.model, settings)
    engine = Engine("http://engine", transport=MockEngine(generated))
    door = Application(settings, waiting=complete_endpoints(renamed, engine))
    with (
        TestClient(create_app(settings, server=renamed), headers=KEY, raise_server_exceptions=False) as http,
        TestClient(door, headers=KEY, raise_server_exceptions=False) as front_door,
    ):
        yield defaultdict(lambda: http, {"front door": front_door})


def schema_of(content: dict[str, Any]) -> Draft202012Validator:
    """What judges a value of a media type of the description."""
    return Draft202012Validator({**content["schema"], "components": description()["components"]})


def described(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = description()["paths"][operation.path][operation.method.lower()]
    return found


def test_the_one_in_the_repository_is_true() -> None:
    kept = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    assert kept == description(), "make openapi"


def test_it_is_valid() -> None:
    validate(description())


def test_it_names_what_is_served_and_nothing_else(server: ServedModel) -> None:
    settings = Settings(batch_bucket="bucket", engine_url="http://engine", model=server.settings.model)
    apps = (create_app(settings, server=server), create_batch_app(settings))
    served = {
        (method, re.sub(r":path(?=\})", "", route.path))
        for app in apps
        for route in app.api.routes
        if isinstance(route, Route) and not re.match("/docs|/openapi.json|/static", route.path)
        for method in route.methods or ()
    }
    told = {(operation.method, operation.path) for operation in OPERATIONS}
    assert told == {pair for pair in served if pair[0] != "HEAD"} | {("GET", METRICS)}


def test_every_operation_tells_what_it_is() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))
    for operation in OPERATIONS:
        assert operation.summary
        found = described(operation)
        assert found["tags"]
        assert found["security"] == ([] if operation.open else [{"bearer": []}, {"x-api-key": []}])
        if operation.method == "POST" and operation.body is not None:
            assert found["requestBody"]["content"]["application/json"]["examples"]


@pytest.mark.parametrize(("operation", "body"), POSTS)
def test_examples_work_and_their_answers_are_as_described(
    clients: dict[str, TestClient], operation: Operation, body: Any
) -> None:
    schema_of(described(operation)["requestBody"]["content"]["application/json"]).validate(body)
    answer = clients[operation.tag].request(operation.method, operation.path, json=body)
    assert answer.status_code == 200, answer.text
    schema_of(described(operation)["responses"]["200"]["content"]["application/json"]).validate(answer.json())


@pytest.mark.parametrize(
    "operation",
    [each for each in OPERATIONS if each.tag != "batches" and each.body is not None],
    ids=lambda each: each.name,
)
def test_errors_are_as_described(clients: dict[str, TestClient], operation: Operation) -> None:
    responses = described(operation)["responses"]
    for content, headers in (
        (b"[]", {}),
        (b'{"stream": 3, "model": 4}', {}),
        (b"{", {}),
        (b"{}", {"authorization": ""}),
    ):
        answer = clients[operation.tag].request(
            operation.method, operation.path, content=content, headers={"content-type": "application/json", **headers}
        )
        assert answer.status_code == (401 if headers else 400)
        schema_of(responses[str(answer.status_code)]["content"]["application/json"]).validate(answer.json())


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.tag == "status"], ids=lambda each: each.name)
def test_status_answers_are_as_described(clients: dict[str, TestClient], operation: Operation) -> None:
    if operation.path == METRICS:
        return  # of the middleware of servers
    answer = clients[operation.tag].request(operation.method, operation.path.replace("{name}", MODEL))
    content = described(operation)["responses"]["200"].get("content")
    assert answer.status_code == 200
    if content is None:
        assert answer.content == b""
    else:
        schema_of(content["application/json"]).validate(answer.json())


def test_it_is_served_with_the_prefix_of_the_paths(clients: dict[str, TestClient]) -> None:
    http = clients["status"]
    assert http.get("/openapi.json").json() == description()
    with TestClient(http.app, root_path="/stage", headers=KEY) as under:
        assert under.get("/stage/openapi.json").json()["servers"][0] == {"url": "/stage"}
