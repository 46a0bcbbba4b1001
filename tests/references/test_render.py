"""Render by reference: small answers, one object, no pixels the second time."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from renderlayer import multimodal
from renderlayer.errors import ConfigurationError
from renderlayer.http.app import create_app
from renderlayer.multimodal import MediaItem, Slot
from renderlayer.references.address import Address, Place
from renderlayer.references.content_store import ContentStore
from renderlayer.references.payload_metadata import PayloadMetadata
from renderlayer.references.writing import referring
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.storage.s3 import S3Store
from tests.events import http_api
from tests.multimodal.images import data_url, encoded, picture
from tests.references.faults import FaultyStore
from tests.runtime import Function

SMALL = data_url(encoded(picture(64, 64)))
PHOTO = data_url(encoded(picture(1920, 1080), "JPEG"), "image/jpeg")
CHAT = "/v1/chat/completions/render"
OneClient = Callable[..., TestClient]


@pytest.fixture
def client(vision: Callable[..., ServedModel]) -> Iterator[OneClient]:
    """A client of the application over the vision model; takes settings."""

    def serve(**settings: Any) -> TestClient:
        server = vision(**settings)
        return TestClient(create_app(server.settings, server=server), raise_server_exceptions=True)

    yield serve


def chat(*urls: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {
        "model": "vision",
        "messages": [{"role": "user", "content": [*parts, {"type": "text", "text": "?"}]}],
        **more,
    }


def rendered(client: TestClient, *urls: str, **more: Any) -> dict[str, Any]:
    answer = client.post(CHAT, json=chat(*urls, **more))
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def slots(body: dict[str, Any]) -> list[str]:
    entries: list[str] = body["features"]["kwargs_data"]["image"]
    return entries


def test_a_photo_by_reference(
    client: OneClient, vision: Callable[..., ServedModel], store: S3Store, place: Place
) -> None:
    app = client()
    answer = app.post(CHAT, json=chat(PHOTO, mm_payload="reference", request_id="1"))
    assert len(answer.content) < 20_000
    by_reference, inline = answer.json(), rendered(app, PHOTO, request_id="1")
    (text,) = slots(by_reference)
    address = Address.parse(text)
    assert place.holds(address)
    assert address.name == by_reference["features"]["mm_hashes"]["image"][0]
    stored = store.describe(address)
    assert stored is not None
    data = b"".join(store.read(address, stored))
    assert base64.b64encode(data).decode() == slots(inline)[0]
    label = PayloadMetadata.read(stored.metadata)
    model = vision().model.facts.fingerprint
    length = by_reference["features"]["mm_placeholders"]["image"][0]["length"]
    assert label == PayloadMetadata.of(data, address.fingerprint, model, length)
    by_reference["features"]["kwargs_data"] = inline["features"]["kwargs_data"]
    assert by_reference == inline, "the metadata and all else stay as they are"


@pytest.fixture
def counted(vision: Callable[..., ServedModel], place: Place, store: S3Store) -> tuple[Callable[[], str], list[str]]:
    """Renders one image by reference, and the hashes of those whose pixels were computed."""
    server = vision()
    write = referring(ContentStore(store, place, server.model.facts.fingerprint, 2))
    computed: list[str] = []

    def counting(slot: Slot) -> str:
        def compute() -> bytes:
            computed.append(slot.mm_hash)
            return slot.compute()

        return write(replace(slot, compute=compute))

    def render() -> str:
        ids = server.model.tokenizer.encode("<|image_pad|>")
        item = MediaItem("image", {"type": "image_url", "image_url": {"url": SMALL}})
        features = multimodal.apply(server.model, server.settings, ids, [item], write=counting).features
        text: str = features["kwargs_data"]["image"][0]
        return text

    return render, computed


def test_pixels_are_computed_once(counted: tuple[Callable[[], str], list[str]]) -> None:
    render, computed = counted
    assert render() == render() == render()
    assert len(computed) == 1


def test_a_hundred_renders_leave_one_object(
    counted: tuple[Callable[[], str], list[str]], place: Place, s3: Any
) -> None:
    render, computed = counted
    with ThreadPoolExecutor(100) as pool:
        assert len(set(pool.map(lambda _: render(), range(100)))) == 1
    assert len(computed) == 1
    assert s3.list_objects_v2(Bucket=place.bucket)["KeyCount"] == 1


def test_another_process_finds_it(vision: Callable[..., ServedModel], place: Place, faulty: FaultyStore) -> None:
    """Two processes of the deployed function, one after the other: the second looks and writes nothing."""
    settings = vision().settings
    environment = {**settings.environment(), "AWS_ENDPOINT_URL_S3": faulty.url}
    event = http_api(CHAT, json.dumps(chat(SMALL, mm_payload="reference", request_id="1")))
    answers = []
    for looks in (1, 2):
        with Function("functions.render.app.handler", environment) as function:
            answers.append(function.invoke(event).value["body"])
        assert [method for method, _ in faulty.requests].count("HEAD") == looks
    assert answers[0] == answers[1]
    assert slots(json.loads(answers[0]))[0].startswith(f"s3://{place.bucket}/")
    assert faulty.count("PUT") == 1


def test_auto_stays_in_place_while_all_fits(client: OneClient, place: Place, s3: Any) -> None:
    size = len(slots(rendered(client(), SMALL))[0])
    roomy = client(mm_payload="auto", reference_above=2 * size)
    assert rendered(roomy, SMALL, SMALL, request_id="1") == rendered(client(), SMALL, SMALL, request_id="1")
    assert "Contents" not in s3.list_objects_v2(Bucket=place.bucket)
    texts = slots(rendered(roomy, SMALL, PHOTO, SMALL))
    assert [text.startswith("s3://") for text in texts] == [True, True, True]
    texts = slots(rendered(client(mm_payload="auto", reference_above=3 * size), SMALL, PHOTO, SMALL))
    assert [text.startswith("s3://") for text in texts] == [False, True, False]


def test_a_request_chooses(client: OneClient) -> None:
    by_default = client(mm_payload="reference")
    assert slots(rendered(by_default, SMALL))[0].startswith("s3://")
    assert not slots(rendered(by_default, SMALL, mm_payload="tensors"))[0].startswith("s3://")
    assert rendered(by_default, SMALL, mm_payload="none")["features"]["kwargs_data"] is None
    assert slots(rendered(client(reference_above=0), SMALL, mm_payload="auto"))[0].startswith("s3://")


def test_names_that_are_no_words(client: OneClient, place: Place) -> None:
    """A client's uuid stands in for the hash; different contents under one uuid are different objects."""
    app = client()
    texts = []
    for url in (SMALL, PHOTO):
        body = chat(url, mm_payload="reference")
        body["messages"][0]["content"][0]["uuid"] = "../../else where"
        texts += slots(app.post(CHAT, json=body).json())
    assert texts[0] != texts[1]
    for text in texts:
        assert place.holds(Address.parse(text))


def test_without_a_bucket(client: OneClient) -> None:
    app = client(reference_bucket="")
    answer = app.post(CHAT, json=chat(SMALL, mm_payload="reference"))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "mm_payload"
    assert not slots(rendered(app, SMALL, mm_payload="auto"))[0].startswith("s3://")
    with pytest.raises(ConfigurationError, match="reference_bucket"):
        Settings.from_environment({"RENDERLAYER_MM_PAYLOAD": "reference"})


def test_a_bucket_that_is_not_there(client: OneClient) -> None:
    """No "try again": it takes an operator to mend it."""
    answer = client(reference_bucket="no-such-bucket").post(CHAT, json=chat(SMALL, mm_payload="reference"))
    assert answer.status_code == 502
    assert "retry-after" not in answer.headers
    assert answer.json()["error"]["type"] == "BadGatewayError"


def redeemed(store: S3Store, check: dict[str, str]) -> Any:
    assert list(check) == ["request_ref"]
    address = Address.parse(check["request_ref"])
    stored = store.describe(address)
    assert stored is not None
    return json.loads(b"".join(store.read(address, stored)))


def test_a_whole_request_as_a_claim_check(client: OneClient, store: S3Store) -> None:
    body = chat(SMALL, request_id="1", mm_payload="reference")
    plain = client().post(CHAT, json=body).json()
    check = client(reference_request_above=500).post(CHAT, json=body).json()
    assert redeemed(store, check) == plain
    assert client(reference_request_above=5_000_000).post(CHAT, json=body).json() == plain


def test_claim_checks_of_several_prompts(client: OneClient, store: S3Store) -> None:
    body = {"model": "vision", "prompt": ["one " * 50, "two"], "request_id": "1"}
    path = "/v1/completions/render"
    plain = client().post(path, json=body).json()
    checks = client(reference_request_above=500).post(path, json=body).json()
    assert [redeemed(store, check) for check in checks] == plain
