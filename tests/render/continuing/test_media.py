"""Media in continued prompts: new ones are placed and made, old ones placed and named by hash (docs/wire.md 2.10)."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.render.continuing.conversations import Json, ids, render

MODELS = ("tiny-qwen3-vl", "tiny-qwen2.5-vl", "tiny-gemma3")


@pytest.fixture(scope="module", params=MODELS)
def vision(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    bundle = pack(shared / "models" / request.param, tmp_path_factory.mktemp("vision") / "bundle")
    settings = Settings(model=str(bundle))
    return ServedModel(open_bundle(bundle, settings), settings)


def picture(color: str, size: tuple[int, int]) -> Json:
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


RED, BLUE, TALL = picture("red", (96, 64)), picture("blue", (96, 64)), picture("green", (64, 256))


def asks(*parts: Json) -> Json:
    return {"role": "user", "content": [*parts, {"type": "text", "text": "What is it?"}]}


def closer(server: ServedModel) -> str:
    return "<end_of_turn>" if "gemma" in server.model.facts.name else "<|im_end|>"


def go_on(server: ServedModel, before: list[Json], new: list[Json], **body: Any) -> tuple[Json, Json, list[int]]:
    messages = [*before, {"role": "assistant", "content": "It is red."}]
    first = render(server, before, **body)
    output = [token for letter in "It is red." for token in ids(server, letter)] + ids(server, closer(server))
    given = {"prompt_token_ids": first["token_ids"], "output_token_ids": output, "messages": len(messages)}
    rendered = render(server, [*messages, *new], continue_from=given, **body)
    assert rendered["continuation"]["mode"] == "extended", rendered["continuation"]
    assert rendered["token_ids"][: len(first["token_ids"]) + len(output)] == [*first["token_ids"], *output]
    return first, rendered, output


@pytest.mark.parametrize("payload", ["tensors", "none"])
def test_old_media_are_named_and_new_ones_made(vision: ServedModel, payload: str) -> None:
    before, new = (
        [asks(RED, TALL)],
        [
            asks(BLUE),
        ],
    )
    first, rendered, _ = go_on(vision, before, new, mm_payload=payload)
    full = render(vision, [*before, {"role": "assistant", "content": "It is red."}, *new], mm_payload=payload)
    old, made, whole = first["features"], rendered["features"], full["features"]
    assert made["mm_hashes"] == whole["mm_hashes"]
    places = made["mm_placeholders"]["image"]
    assert places[:2] == old["mm_placeholders"]["image"]
    for found, expected in zip(places, whole["mm_placeholders"]["image"], strict=True):
        run = rendered["token_ids"][found["offset"] : found["offset"] + found["length"]]
        assert run == full["token_ids"][expected["offset"] : expected["offset"] + expected["length"]]
    if payload == "none":
        assert made["kwargs_data"] is made["mm_metadata"] is None
    else:
        assert made["kwargs_data"]["image"] == [None, None, whole["kwargs_data"]["image"][2]]


def test_nothing_is_sent_again(vision: ServedModel) -> None:
    _, rendered, _ = go_on(
        vision,
        [asks(RED)],
        [
            asks(),
        ],
    )
    assert rendered["features"]["kwargs_data"] == {"image": [None]}
    assert rendered["features"]["mm_metadata"] is None
    _, rendered, _ = go_on(vision, [asks()], [asks(RED)])
    assert rendered["features"]["kwargs_data"]["image"][0]


def test_a_changed_image_is_another_history(vision: ServedModel) -> None:
    first = render(vision, [asks(TALL)])["token_ids"]
    messages = [asks(RED), {"role": "assistant", "content": "It is red."}, asks()]
    output = ids(vision, "It is red." + closer(vision))
    given = {"prompt_token_ids": first, "output_token_ids": output, "messages": 2}
    rendered = render(vision, messages, continue_from=given)
    alike = "gemma" in vision.model.facts.name  # its images are all of one length
    assert rendered["continuation"]["mode"] == ("extended" if alike else "rendered")
