"""Encode, prefill and decode on three engines, with object storage between them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from renderlayer.errors import BadGateway, BadRequest
from renderlayer.pipeline.disaggregated import (
    Roles,
    decode_request,
    disaggregated,
    encode_requests,
    prefill_request,
)
from renderlayer.pipeline.engine import EngineError
from renderlayer.pipeline.engines import open_engines
from renderlayer.references.address import Address
from renderlayer.request_context import stage_observers
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.multimodal.images import encoded, picture
from tests.pipeline.loop import read, wait
from tests.references.conftest import faulty, faulty_store, place, s3, s3_url, store, vision, vision_folder
from tests.references.embedded import connector, engine, one_thread, url_of
from tests.references.servers import served
from tests.references.test_engine import FIRST, SECOND, render

README = Path(__file__).parents[2] / "infra/README.md"
__all__ = ["faulty", "faulty_store", "one_thread", "place", "s3", "s3_url", "store", "vision", "vision_folder"]


@pytest.fixture
def server(vision: Callable[..., ServedModel]) -> ServedModel:
    return vision()


@pytest.fixture
def roles(vision_folder: Path, server: ServedModel) -> Iterator[Roles]:
    with ExitStack() as stack:
        producer = stack.enter_context(engine(vision_folder, server, **connector("ec_producer")))
        consumer = stack.enter_context(engine(vision_folder, server, **connector("ec_consumer")))
        yield Roles(encode=producer, prefill=consumer, decode=consumer)


def test_the_same_answer_as_one_engine(server: ServedModel, roles: Roles) -> None:
    for urls in ((FIRST, SECOND), (FIRST, FIRST)):
        rendered = render(server, "reference", *urls)
        whole = wait(roles.encode.generate(rendered))["choices"]
        answer = wait(disaggregated(rendered, roles))
        assert isinstance(answer, dict)
        assert answer["choices"] == whole
        events = wait(disaggregated({**rendered, "stream": True}, roles))
        assert not isinstance(events, dict)
        tokens = [token for event in read(events) for choice in event["choices"] for token in choice["token_ids"]]
        assert tokens == whole[0]["token_ids"]


class Watched:
    """Between the front door and an engine: what was sent to it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.sent: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == "/inference/v1/generate":
            self.sent.append(json.loads(body))
        headers = {"content-type": "application/json"}
        async with httpx2.AsyncClient(timeout=300) as client:
            answer = await client.request(scope["method"], self._url + scope["path"], content=body, headers=headers)
        kind = answer.headers.get("content-type", "").encode()
        await send({"type": "http.response.start", "status": answer.status_code, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": answer.content})


def test_the_front_door_with_roles_from_settings(server: ServedModel, roles: Roles) -> None:
    """The same tokens as one engine; the prefill engine that is gone is replaced; its body carries no pixels."""
    assert roles.encode is not None
    rendered = render(server, "reference", FIRST, SECOND)
    whole = wait(roles.encode.generate(rendered))["choices"]
    stages: list[str] = []
    stage_observers.append(lambda stage, seconds: stages.append(stage))
    prefill, decode = Watched(url_of(roles.decode)), Watched(url_of(roles.decode))  # type: ignore[arg-type]
    with served(prefill) as prefill_url, served(decode) as decode_url, socket.socket() as gone:
        gone.bind(("127.0.0.1", 0))  # and nobody listens
        service = open_engines(
            Settings(
                engine_url=decode_url,
                prefill_url=f"http://127.0.0.1:{gone.getsockname()[1]},{prefill_url}",
                encode_url=url_of(roles.encode),  # type: ignore[arg-type]
                routing="round-robin",
            )
        )
        try:
            assert wait(service.generate(rendered))["choices"] == whole
            told = read(service.stream(rendered))
        finally:
            wait(service.aclose())
            stage_observers.pop()
    tokens = [token for event in told for choice in event["choices"] for token in choice["token_ids"]]
    assert tokens == whole[0]["token_ids"]
    assert stages == ["encode", "prefill", "decode"] * 2
    assert len(prefill.sent) == len(decode.sent) == 2
    for body in [*prefill.sent, *decode.sent]:
        assert body["features"]["kwargs_data"] is None
        assert set(body["ec_transfer_params"]) == set(rendered["features"]["mm_hashes"]["image"])
    assert [body["sampling_params"]["max_tokens"] for body in prefill.sent] == [1, 1]
    assert prefill.sent[0]["kv_transfer_params"] == {"do_remote_decode": True, "do_remote_prefill": False}


def test_text_needs_no_encoding(server: ServedModel, roles: Roles) -> None:
    rendered = render(server, "reference")
    answer = wait(disaggregated(rendered, roles))
    assert isinstance(answer, dict)
    assert answer["choices"] == wait(roles.decode.generate(rendered))["choices"]


def test_what_each_engine_is_sent(server: ServedModel) -> None:
    rendered = render(server, "reference", FIRST, SECOND, FIRST)
    features, ids = rendered["features"], rendered["token_ids"]
    first, second = encode_requests(rendered)
    assert first["features"]["kwargs_data"] == {"image": features["kwargs_data"]["image"][:1]}
    assert second["features"]["mm_hashes"] == {"image": features["mm_hashes"]["image"][1:2]}
    place = features["mm_placeholders"]["image"][1]
    assert second["features"]["mm_placeholders"] == {"image": [{"offset": 1, "length": place["length"]}]}
    assert second["token_ids"] == [ids[0], *ids[place["offset"] : place["offset"] + place["length"]]]
    assert second["sampling_params"] == {"max_tokens": 1}
    coordinates = {mm_hash: {"peer": 1} for mm_hash in features["mm_hashes"]["image"]}
    prefill = prefill_request(rendered, coordinates)
    assert prefill["features"] == {**features, "kwargs_data": None}
    assert prefill["ec_transfer_params"] == coordinates
    assert prefill["kv_transfer_params"] == {"do_remote_decode": True, "do_remote_prefill": False}
    cache = {"remote_block_ids": [[1]], "do_remote_decode": True}
    decode = decode_request(rendered, coordinates, cache)
    handed_over = {"remote_block_ids": [[1]], "do_remote_decode": False, "do_remote_prefill": True}
    assert decode["kv_transfer_params"] == handed_over
    assert decode["sampling_params"] == rendered["sampling_params"]


def test_items_without_metadata_are_left_to_prefill(server: ServedModel) -> None:
    rendered = render(server, "reference", FIRST, SECOND)
    features = rendered["features"]
    features["mm_metadata"]["image"][1] = None
    (request,) = encode_requests(rendered)
    assert request["features"]["mm_hashes"] == {"image": features["mm_hashes"]["image"][:1]}
    prefill = prefill_request(rendered, {features["mm_hashes"]["image"][0]: {"peer": 1}})
    assert prefill["features"]["kwargs_data"] == {"image": [None, features["kwargs_data"]["image"][1]]}
    rendered["features"]["mm_metadata"] = None
    assert encode_requests(rendered) == []
    assert prefill_request(rendered, {})["features"] == rendered["features"]


def test_metadata_alone_is_refused(server: ServedModel, roles: Roles) -> None:
    rendered = render(server, "reference", FIRST)
    rendered["features"]["kwargs_data"] = None
    with pytest.raises(EngineError, match="metadata-only multimodal items require ec_transfer_params"):
        wait(roles.prefill.generate(rendered))
    with pytest.raises(BadRequest, match=r"features\.kwargs_data\.image\[0\] is needed"):
        wait(disaggregated(rendered, roles))


def test_an_engine_without_a_connector(server: ServedModel, roles: Roles) -> None:
    with pytest.raises(BadGateway, match="encoder-cache connector"):
        wait(disaggregated(render(server, "reference", FIRST), Roles(roles.decode, roles.prefill, roles.decode)))


@pytest.mark.parametrize(
    ("uri", "status"), [("s3://elsewhere/references/embeddings/embedding/n", 400), ("nothing", 400), ("{gone}", 424)]
)
def test_embeddings_that_cannot_be_loaded(server: ServedModel, roles: Roles, s3: Any, uri: str, status: int) -> None:
    rendered = render(server, "reference", FIRST)
    (request,) = encode_requests(rendered)
    ((mm_hash, coordinates),) = wait(roles.encode.generate(request))["ec_transfer_params"].items()
    address = Address.parse(coordinates["uri"])
    s3.delete_object(Bucket=address.bucket, Key=address.key)
    told = {mm_hash: {**coordinates, "uri": uri.format(gone=address)}}
    with pytest.raises(EngineError) as caught:
        wait(roles.prefill.generate(prefill_request(rendered, told)))
    assert caught.value.status == status


def test_the_prefill_engine_sees_no_pixels(server: ServedModel, roles: Roles, s3: Any) -> None:
    """The payload is deleted once it is encoded."""
    rendered = render(server, "reference", FIRST)
    (request,) = encode_requests(rendered)
    coordinates = wait(roles.encode.generate(request))["ec_transfer_params"]
    payload = Address.parse(rendered["features"]["kwargs_data"]["image"][0])
    s3.delete_object(Bucket=payload.bucket, Key=payload.key)
    answer = wait(roles.decode.generate(decode_request(rendered, coordinates, None)))
    assert answer["choices"] == wait(roles.encode.generate(render(server, "tensors", FIRST)))["choices"]


def test_some_images_encoded_elsewhere_and_some_here(server: ServedModel, roles: Roles) -> None:
    rendered = render(server, "reference", FIRST, SECOND)
    whole = wait(roles.encode.generate(rendered))["choices"]
    coordinates = wait(roles.encode.generate(encode_requests(rendered)[1]))["ec_transfer_params"]
    mixed = {**rendered, "ec_transfer_params": coordinates}
    mixed["features"] = {
        **rendered["features"],
        "kwargs_data": {"image": [rendered["features"]["kwargs_data"]["image"][0], None]},
    }
    assert wait(roles.decode.generate(mixed))["choices"] == whole


def test_the_example_of_the_readme(
    server: ServedModel,
    roles: Roles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    for text, here in {
        "http://127.0.0.1:8001": url_of(roles.encode),
        "http://127.0.0.1:8002": url_of(roles.decode),
        '"payloads"': repr(server.settings.reference_bucket),
        '"max_tokens": 32': '"max_tokens": 4, "temperature": 0, "ignore_eos": True, "model": None',
    }.items():
        assert text in example
        example = example.replace(text, here)
    (tmp_path / "photo.jpg").write_bytes(encoded(picture(96, 64), "JPEG"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MODEL", server.settings.model)
    names: dict[str, Any] = {}
    exec(compile(example, README.name, "exec"), names)
    assert len(names["answer"]["choices"][0]["token_ids"]) == 4
    assert capsys.readouterr().out.endswith("\n")
