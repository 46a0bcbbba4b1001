"""What the engine refuses, and how (wire.md 1.6, 5.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.serving import GENERATE, Service


@pytest.mark.parametrize(
    ("body", "status", "kind", "param"),
    [
        ({"sampling_params": {}}, 400, "Bad Request", "body.token_ids"),
        ({"token_ids": [], "sampling_params": {}}, 400, "Bad Request", "body.token_ids"),
        ({"token_ids": [-1], "sampling_params": {}}, 400, "Bad Request", "body.token_ids"),
        ({"token_ids": [1]}, 400, "Bad Request", "body.sampling_params"),
        ({"token_ids": [1], "sampling_params": "x"}, 400, "Bad Request", "body.sampling_params"),
        ({"token_ids": [1], "sampling_params": {"n": "x"}}, 400, "Bad Request", "body.sampling_params"),
        ({"token_ids": [1], "sampling_params": {}, "model": "nope"}, 404, "NotFoundError", "model"),
        ({"token_ids": [1], "sampling_params": {"n": 9, "seed": 1}}, 400, "BadRequestError", None),
        ({"token_ids": [1], "sampling_params": {}, "output_mode": "derender"}, 400, "BadRequestError", None),
        ({"token_ids": [1], "sampling_params": {}, "content_parts": []}, 400, "BadRequestError", "content_parts"),
        ({"token_ids": [99_999], "sampling_params": {}}, 400, "BadRequestError", None),
        ({"token_ids": [1] * 1024, "sampling_params": {"max_tokens": 1}}, 400, "BadRequestError", None),
        ({"token_ids": [1] * 1024, "sampling_params": {}}, 400, "BadRequestError", None),
        ({"token_ids": [1] * 1025, "sampling_params": {}}, 400, "BadRequestError", None),
    ],
)
def test_bodies(service: Service, body: dict[str, Any], status: int, kind: str, param: str | None) -> None:
    response = service.post(**body)
    assert response.status_code == status
    error = response.json()["error"]
    assert (error["type"], error["param"], error["code"]) == (kind, param, status)
    assert error["message"]


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"allowed_token_ids": []}, "allowed_token_ids"),
        ({"allowed_token_ids": [99_999]}, "allowed_token_ids"),
        ({"stop_token_ids": [-1]}, "stop_token_ids"),
        ({"logit_bias": {"99999": 1}}, "logit_bias"),
        ({"logprob_token_ids": [99_999]}, "logprob_token_ids"),
        ({"logprob_token_ids": list(range(129))}, "logprob_token_ids"),
        ({"logprob_token_ids": [1], "logprobs": 2}, "logprob_token_ids"),
        ({"prompt_logprob_token_ids": []}, "prompt_logprob_token_ids"),
        ({"bad_words": [" "] * 2, "allowed_token_ids": [99_999]}, "allowed_token_ids"),
        ({"watermarking": {}}, "watermarking"),
        ({"thinking_token_budget": 5}, "thinking_token_budget"),
        ({"trace_decode_token_ids": [1], "n": 2, "seed": 1}, None),
    ],
)
def test_parameters_that_do_not_suit_the_model(service: Service, params: dict[str, Any], param: str | None) -> None:
    response = service.post(token_ids=[1], sampling_params=params)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


def test_bodies_that_are_not_json(service: Service) -> None:
    headers = {"content-type": "application/json"}
    error = service.client.post(GENERATE, content=b"{", headers=headers).json()["error"]
    assert (error["type"], error["param"]) == ("Bad Request", "body.1")
    response = service.client.post(GENERATE, content=b"{}", headers={"content-type": "text/plain"})
    assert response.status_code == 400


def test_abort_bodies(service: Service) -> None:
    path = "/inference/v1/abort_requests"
    assert service.client.post(path, content=b'{"request_ids": "unknown"}').status_code == 200
    assert service.client.post(path, content=b'{"request_ids": ["a", "b"]}').content == b""
    assert service.client.post(path, content=b'{"request_ids": [null, ["a"]]}').status_code == 200
    for content in (b"{", b"{}", b"[]", b"[" * 100_000, b'{"request_ids": 5}', b'{"request_ids": {"a": "b"}}'):
        response = service.client.post(path, content=content)
        assert response.status_code == 400
        assert response.json()["error"]["type"] == "Bad Request"


def test_status_routes(service: Service) -> None:
    get = service.client.get
    assert (get("/health").status_code, get("/health").content) == (200, b"")
    assert (get("/ping").status_code, service.client.post("/ping").status_code) == (200, 200)
    assert "version" in get("/version").json()
    cards = get("/v1/models").json()["data"]
    assert [(card["id"], card["max_model_len"]) for card in cards] == [("tiny", 1024), ("alias", 1024)]
