"""Render, references and the embedded engine together, on a tiny model of the Qwen3-VL family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from renderlayer.pipeline.engine import Engine, EngineError
from renderlayer.references.address import Address
from renderlayer.references.writing import claims
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.multimodal.images import data_url, encoded, picture
from tests.pipeline.loop import read, wait
from tests.references.embedded import engine, one_thread

__all__ = ["one_thread"]
FIRST, SECOND = (data_url(encoded(picture(96, 64, seed=seed))) for seed in (1, 2))


@pytest.fixture
def server(vision: Callable[..., ServedModel]) -> ServedModel:
    return vision()


@pytest.fixture
def client(vision_folder: Path, server: ServedModel) -> Iterator[Engine]:
    with engine(vision_folder, server) as running:
        yield running


def render(server: ServedModel, payload: str, *urls: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    body = {
        "model": "vision",
        "messages": [{"role": "user", "content": [*parts, {"type": "text", "text": "What is it?"}]}],
        "max_tokens": 8,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 2,
        "mm_payload": payload,
        "ignore_eos": True,
        "request_id": "1",
    }
    return render_chat(parse(ChatCompletionRequest, body), server)


def test_the_same_answer_as_inline(server: ServedModel, client: Engine) -> None:
    inline = wait(client.generate(render(server, "tensors", FIRST, SECOND)))["choices"]
    referenced = render(server, "reference", FIRST, SECOND)
    assert wait(client.generate(referenced))["choices"] == inline
    assert wait(client.generate(claims(referenced, server.settings, server.model)))["choices"] == inline
    events = [choice for event in read(client.stream(referenced)) for choice in event["choices"]]
    assert [token for choice in events for token in choice["token_ids"]] == inline[0]["token_ids"]
    assert wait(client.generate(render(server, "reference", SECOND, FIRST)))["choices"] != inline


def test_a_payload_that_is_gone(server: ServedModel, client: Engine, s3: Any) -> None:
    rendered = render(server, "reference", FIRST)
    address = Address.parse(rendered["features"]["kwargs_data"]["image"][0])
    s3.delete_object(Bucket=address.bucket, Key=address.key)
    with pytest.raises(EngineError, match="Render again") as caught:
        wait(client.generate(rendered))
    assert (caught.value.status, caught.value.param) == (424, "features.kwargs_data.image[0]")
    assert wait(client.generate(render(server, "reference", FIRST)))["choices"]
