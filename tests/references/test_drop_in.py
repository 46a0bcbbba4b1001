"""The functions' URL as the render URL of llm-d's token producer and coordinator and of Dynamo's endpoint picker.

Each test sends what the caller sends and reads what it reads (Go and Rust types spelled out), through API Gateway
events to the deployed handlers' application.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from infra.local.gateway import Gateway
from infra.local.template import read
from renderlayer.http.app import create_app
from renderlayer.http.aws.lambda_handler import LambdaHandler
from renderlayer.http.request import UnderPrefix
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.events import FakeContext, http_api
from tests.models import open_server
from tests.multimodal.images import data_url, encoded, picture
from tests.references.servers import served
from tests.runtime import Function

MiB = 1 << 20
GO = {"Content-Type": "application/json", "User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"}
RUST = {"Content-Type": "application/json", "Accept": "*/*"}
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
CHAT = "/v1/chat/completions/render"
COMPLETION = "/v1/completions/render"
HELLO = {"model": "small", "messages": [{"role": "user", "content": "Hello world, thank you."}]}


def functions(server: ServedModel) -> Gateway:
    """Both functions behind the routes that the template gives them."""
    parts = {"RenderFunction": "render", "DerenderFunction": "derender"}
    handlers = {
        name: LambdaHandler(create_app(server.settings, (part,), server), server.settings, part)
        for name, part in parts.items()
    }
    return Gateway(read(), handlers, server.settings.max_body_bytes)


@pytest.fixture
def url(server: ServedModel) -> Iterator[TestClient]:
    gateway = functions(server)
    yield TestClient(gateway)
    gateway.close()


@pytest.fixture
def vision_url(vision: Callable[..., ServedModel]) -> Iterator[TestClient]:
    """A deployment whose default is to send payloads by reference."""
    gateway = functions(vision(mm_payload="reference", reference_prefix="references"))
    yield TestClient(gateway)
    gateway.close()


def post(client: TestClient, path: str, body: Any, headers: dict[str, str]) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content, headers=headers)


def is_uint32(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 32


def images(*sizes: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"type": "image_url", "image_url": {"url": data_url(encoded(picture(*size)))}} for size in sizes]


# 1. Paths, also under a prefix.

BODIES = {
    CHAT: HELLO,
    COMPLETION: {"model": "small", "prompt": "hello"},
    "/v1/responses/render": {"model": "small", "input": "hello"},
    "/v1/messages/render": {"model": "small", "max_tokens": 5, "messages": HELLO["messages"]},
}
STATUS = [("GET", "/health"), ("GET", "/ping"), ("POST", "/ping"), ("GET", "/v1/models"), ("GET", "/version")]


@pytest.mark.parametrize("path", BODIES)
def test_render_paths(url: TestClient, path: str) -> None:
    assert post(url, path, BODIES[path], RUST).status_code == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions/derender", "/v1/completions/derender"])
def test_derender_paths(url: TestClient, path: str) -> None:
    answer = post(url, path, {}, RUST)
    assert answer.status_code == 400, "the path is there and misses its body"


@pytest.mark.parametrize(("method", "path"), STATUS)
def test_status_paths(url: TestClient, method: str, path: str) -> None:
    assert url.request(method, path).status_code == 200


@pytest.mark.parametrize("stage", ["prod", "$default"])
def test_under_a_stage(server: ServedModel, stage: str) -> None:
    """Dynamo keeps the path of its service URL, so an API Gateway stage stands before every path."""
    handler = LambdaHandler(create_app(server.settings, ("render",), server), server.settings, "render")
    for path, body in BODIES.items():
        result = handler(http_api(path, json.dumps(body), stage=stage), FakeContext())
        assert result["statusCode"] == 200
    for method, path in STATUS:
        assert handler(http_api(path, method=method, stage=stage), FakeContext())["statusCode"] == 200


def test_under_a_mapping(server: ServedModel) -> None:
    client = TestClient(UnderPrefix(create_app(server.settings, server=server), "/tokenizer/v2"))
    assert post(client, "/tokenizer/v2" + CHAT, HELLO, RUST).status_code == 200


# 2. Status 200, JSON, HTTP/1.1 that is kept alive, and small enough.


def test_one_connection_serves_many_requests(server: ServedModel) -> None:
    gateway = functions(server)
    with served(gateway) as address:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        connection.connect()
        socket = connection.sock
        for _ in range(3):
            connection.request("POST", CHAT, json.dumps(HELLO), RUST)
            answer = connection.getresponse()
            content = answer.read()
            assert (answer.status, answer.version) == (200, 11)
            assert answer.getheader("content-type") == "application/json"
            assert int(answer.getheader("content-length", "")) == len(content)
            assert connection.sock is socket
        connection.close()
    gateway.close()


def test_photos_fit_what_routers_read(vision_url: TestClient) -> None:
    """Four photos of 1080p are 50 MB of tensors; Dynamo reads 16 MiB, Lambda carries 6."""
    photo = data_url(encoded(picture(1920, 1080), "JPEG"), "image/jpeg")
    content = [{"type": "image_url", "image_url": {"url": photo}}] * 4
    answer = post(vision_url, CHAT, {"model": "vision", "messages": [{"role": "user", "content": content}]}, RUST)
    assert answer.status_code == 200
    assert len(answer.content) < 16 * MiB / 100


# 3. Unknown keys, header case, content type.


def test_unknown_keys_are_ignored(url: TestClient) -> None:
    extra = {"session_id": "s", "vllm_xargs": {"a": 1}, "nvext": {"agent_hints": [1]}, "anything": None}
    plain = post(url, CHAT, {**HELLO, "request_id": "1"}, RUST).json()
    answer = post(url, CHAT, {**HELLO, **extra, "request_id": "1"}, {"CONTENT-TYPE": "Application/JSON; charset=utf-8"})
    assert answer.status_code == 200
    assert answer.json()["token_ids"] == plain["token_ids"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_other_content_types(url: TestClient, kind: str) -> None:
    answer = post(url, CHAT, HELLO, {"Content-Type": kind})
    assert answer.status_code == 400
    assert "Only 'application/json' is allowed" in answer.json()["error"]["message"]


# 4. What llm-d's token producer reads.


def test_token_producer_chat(url: TestClient) -> None:
    """It stamps the base model's name over the client's body and forwards the rest as it came."""
    body = {**HELLO, "temperature": 0.3, "stream": True, "stream_options": {"include_usage": True}, "user": "u"}
    answer = post(url, CHAT, body, {**GO, **TRACE})
    assert answer.status_code == 200
    read_by_it = answer.json()
    assert all(map(is_uint32, read_by_it["token_ids"]))
    assert read_by_it["token_ids"]
    assert read_by_it["features"] is None


def test_token_producer_images(vision_url: TestClient) -> None:
    content = [*images((64, 64), (96, 64)), {"type": "text", "text": "compare"}]
    body = {"model": "vision", "messages": [{"role": "user", "content": content}]}
    answer = post(vision_url, CHAT, body, {**GO, **TRACE}).json()
    hashes, ranges = answer["features"]["mm_hashes"], answer["features"]["mm_placeholders"]
    assert [len(text) for text in hashes["image"]] == [64, 64]
    pads = answer["token_ids"]
    for entry in ranges["image"]:
        assert set(entry) == {"offset", "length"}
        assert len(set(pads[entry["offset"] : entry["offset"] + entry["length"]])) == 1


@pytest.mark.parametrize(("prompt", "count"), [("hello world", 1), (["one", "two", "three"], 3), ([1, 2, 3], 1)])
def test_token_producer_completion(url: TestClient, prompt: Any, count: int) -> None:
    answer = post(url, COMPLETION, {"model": "small", "prompt": prompt}, {**GO, **TRACE}).json()
    assert isinstance(answer, list)
    assert len(answer) == count
    assert all(is_uint32(token) for entry in answer for token in entry["token_ids"])


# 4. What llm-d's coordinator reads: one list entry an image, in message order, none of them null.


def test_coordinator_images(vision_url: TestClient) -> None:
    parts = images((64, 64), (200, 300), (64, 64))
    messages = [
        {"role": "user", "content": [parts[0], {"type": "text", "text": "and"}, parts[1]]},
        {"role": "assistant", "content": "Nice."},
        {"role": "user", "content": [parts[2]]},
    ]
    headers = {**GO, "X-Request-ID": "coordinated", "Authorization": "Bearer anything"}
    answer = post(vision_url, CHAT, {"model": "vision", "messages": messages, "stream": False}, headers)
    assert answer.status_code == 200
    features = answer.json()["features"]
    entries = [features[name]["image"] for name in ("mm_hashes", "mm_placeholders", "kwargs_data")]
    assert [len(entry) for entry in entries] == [3, 3, 3]
    hashes, ranges, payloads = entries
    assert hashes[0] == hashes[2] != hashes[1]
    assert payloads[0] == payloads[2] != payloads[1]
    assert all(payload.startswith("s3://") for payload in payloads)
    assert [entry["length"] for entry in ranges] == [64, 70, 64]
    assert sorted(entry["offset"] for entry in ranges) == [entry["offset"] for entry in ranges]


def test_coordinator_text(url: TestClient) -> None:
    answer = post(url, COMPLETION, {"model": "small", "prompt": "hello"}, {**GO, "X-Request-ID": "c"})
    assert answer.status_code == 200
    assert len(answer.json()) == 1
    assert post(url, CHAT, HELLO, {**GO, "X-Request-ID": "c"}).json()["features"] is None


# 5. Request ids.


def test_request_ids(url: TestClient) -> None:
    headers = {**GO, "X-Request-ID": "abc"}
    assert post(url, CHAT, HELLO, headers).json()["request_id"] == "chatcmpl-abc"
    one, two = ({"model": "small", "prompt": prompt} for prompt in ("hello", ["hello", "world"]))
    assert [entry["request_id"] for entry in post(url, COMPLETION, one, headers).json()] == ["cmpl-abc"]
    assert [entry["request_id"] for entry in post(url, COMPLETION, two, headers).json()] == ["cmpl-abc-0", "cmpl-abc-1"]


def test_the_request_id_is_echoed(model_folder: Path) -> None:
    server = open_server(model_folder, Settings(served_model_name=["small"], enable_request_id_headers=True))
    gateway = functions(server)
    answer = post(TestClient(gateway), CHAT, HELLO, {**GO, "x-request-id": "abc"})
    gateway.close()
    assert answer.headers["X-Request-Id"] == "abc"


# 6. Errors: the OpenAI envelope, and never 5xx for the client's mistake.


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({**HELLO, "model": "x"}, 404, "The model `x` does not exist."),
        ({"model": "small", "messages": []}, 400, ""),
        ({"model": "small"}, 400, ""),
        (b"{", 400, "JSON decode error"),
        (b"", 400, "Field required"),
        (b"[1]", 400, ""),
        ({**HELLO, "temperature": "hot"}, 400, ""),
        ({"model": "small", "messages": [{"role": "user", "content": "word " * 5000}]}, 400, "maximum context length"),
        ({"model": "small", "messages": [{"role": "user", "content": images((9, 9))}]}, 400, "multimodal"),
    ],
)
def test_errors(url: TestClient, body: Any, status: int, text: str) -> None:
    answer = post(url, CHAT, body, GO)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert list(error) == ["message", "type", "param", "code"]
    assert error["code"] == status
    assert text in error["message"]


# 7. Inside the routers' 5 seconds, the start of a function included.


def test_a_cold_start_answers_in_time(server: ServedModel) -> None:
    environment = {"RENDERLAYER_MODEL": server.settings.model, "RENDERLAYER_SERVED_MODEL_NAME": "small"}
    with Function("functions.render.app.handler", environment) as function:
        outcome = function.invoke(http_api(CHAT, json.dumps(HELLO)))
        took = function.processor_seconds()  # on a machine that has nothing else to do, as long as the answer takes
    assert outcome.ok
    assert outcome.value["statusCode"] == 200
    assert took < 5


# 8. Keys: forwarded ones are accepted, and a deployment may be open.


def test_keys(model_folder: Path) -> None:
    server = open_server(model_folder, Settings(served_model_name=["small"], api_key=["secret"]))
    gateway = functions(server)
    client = TestClient(gateway)
    assert post(client, CHAT, HELLO, {**GO, "Authorization": "Bearer secret"}).status_code == 200
    assert post(client, CHAT, HELLO, GO).status_code == 401
    assert client.get("/health").status_code == 200, "probes carry no key"
    gateway.close()


def test_an_open_deployment_ignores_keys(url: TestClient) -> None:
    assert post(url, CHAT, HELLO, RUST).status_code == 200
    assert post(url, CHAT, HELLO, {**RUST, "Authorization": "Bearer of the client"}).status_code == 200


# 9. Trace context.


def test_trace_context_reaches_the_log(
    server: ServedModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9")  # where functions write their own line
    gateway = functions(server)
    assert post(TestClient(gateway), CHAT, HELLO, {**GO, **TRACE, "tracestate": "vendor=1"}).status_code == 200
    gateway.close()
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert line["trace_id"] == TRACE["traceparent"]


# 10. The same bytes for the same request.


def test_answers_are_deterministic(url: TestClient, vision_url: TestClient) -> None:
    content = [*images((64, 64), (200, 300)), {"type": "text", "text": "compare"}]
    seen = {"model": "vision", "messages": [{"role": "user", "content": content}]}
    for client, body in ((url, HELLO), (vision_url, seen)):
        answers = {post(client, CHAT, body, {**GO, "X-Request-ID": "1"}).content for _ in range(3)}
        assert len(answers) == 1
