from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from infra.local.gateway import CONCURRENCY, Gateway, Handler
from infra.local.template import Function, Template

TEMPLATE = Template({"A": Function("A", "a", "handler")}, {("POST", "/a"): "A"})


@contextmanager
def gateway(handler: Handler) -> Iterator[TestClient]:
    application = Gateway(TEMPLATE, {"A": handler}, max_body_bytes=1000)
    yield TestClient(application)
    application.close()


def echo(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return {"statusCode": 200, "headers": {"x-function": context.function_name}, "body": event["body"]}


def test_a_request_passes_through_the_handler() -> None:
    with gateway(echo) as client:
        response = client.post("/a", json={"text": "ü"})
    assert response.json() == {"text": "ü"}
    assert response.headers["x-function"] == "A"


def test_a_route_that_does_not_exist() -> None:
    with gateway(echo) as client:
        assert client.post("/b").status_code == 404
        assert client.get("/a").json() == {
            "error": {"message": "Not Found", "type": "NotFoundError", "param": None, "code": 404}
        }


def test_a_body_that_is_too_large_never_becomes_an_event() -> None:
    with gateway(lambda event, context: pytest.fail("called")) as client:
        response = client.post("/a", content=b"x" * 1001)
    assert response.status_code == 413
    assert response.json()["error"]["type"] == "PayloadTooLargeError"


def test_a_handler_that_raises(capsys: pytest.CaptureFixture[str]) -> None:
    with gateway(lambda event, context: {}["statusCode"]) as client:
        response = client.post("/a", json={})
    assert (response.status_code, response.json()["error"]["type"]) == (500, "InternalServerError")
    assert "KeyError" in capsys.readouterr().err


def test_handlers_run_side_by_side() -> None:
    together = threading.Barrier(CONCURRENCY, timeout=300)

    def meet(event: dict[str, Any], context: Any) -> dict[str, Any]:
        together.wait()
        return {"statusCode": 200, "body": event["body"]}

    with gateway(meet) as client, ThreadPoolExecutor(CONCURRENCY) as pool:
        answers = list(pool.map(lambda number: client.post("/a", json=number).json(), range(CONCURRENCY)))
    assert answers == list(range(CONCURRENCY))
