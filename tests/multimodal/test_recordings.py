"""Image requests that the reference answered: the same ids, hashes, placeholders, and tensors to the last bit."""

from __future__ import annotations

import argparse
import base64
from functools import cache
from pathlib import Path
from typing import Any

import msgpack
import pytest

from renderlayer import multimodal
from renderlayer.errors import RenderLayerError
from renderlayer.flags import add_flags
from renderlayer.http.server.engine_flags import add_engine_flags
from renderlayer.settings import Settings
from tests.multimodal.recorded import FolderModel, cases, media, ranges_fault

SETS = ("tiny-qwen3-vl", "tiny-qwen3-vl-trust", "tiny-qwen2.5-vl", "tiny-gemma3")
# Refused before media are looked at: by the schema of the request, or for its tools.
ELSEWHERE = {"mm_image_url_str", "mm_input_image", "mm_payload_bogus", "mm_tool_image"}


@cache
def open_model(folder: Path) -> FolderModel:
    return FolderModel(folder)


@pytest.mark.parametrize("name", SETS)
def test_recorded(shared: Path, name: str) -> None:
    replayed = 0
    for case in cases(shared / "corpus" / f"{name}.jsonl.gz"):
        if case["name"] in ELSEWHERE:
            continue
        model = open_model(shared / case["server_args"][3])
        status, answer = render(model, settings_of(case), case)
        assert status == case["status"], case["name"]
        if status != 200:
            error = case["response"]["error"]
            assert (answer["type"], answer["param"]) == (error["type"], error["param"]), case["name"]
            continue
        ours, theirs = comparable(answer), comparable(case["response"])
        places = [side["features"].pop("mm_placeholders") for side in (theirs, ours)]
        assert ranges_fault(*places, theirs["token_ids"]) is None, case["name"]
        assert ours == theirs, case["name"]
        replayed += 1
    assert replayed


def render(model: Any, settings: Settings, case: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request, items = case["request"], media(case)
    options = {name: request.get(name) for name in ("media_io_kwargs", "mm_processor_kwargs")}
    try:
        multimodal.check_trust(settings, **options)
        multimodal.check_counts(model, settings, items)
        ids = model.prompt(request["messages"])
        expanded = multimodal.apply(
            model, settings, ids, items, payload=request.get("mm_payload", "tensors"), **options
        )
        if request.get("truncate_prompt_tokens"):
            expanded = multimodal.truncated(expanded, request["truncate_prompt_tokens"])
    except RenderLayerError as error:
        return error.status, error.body()["error"]
    return 200, {"token_ids": expanded.token_ids, "features": expanded.features}


def settings_of(case: dict[str, Any]) -> Settings:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    add_engine_flags(parser)
    return Settings.from_arguments(parser.parse_args(case["server_args"][3:]), Settings())


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Items decoded, without the slices, which in the reference depend on the neighbours."""
    features = dict(answer["features"])
    for name in ("kwargs_data", "mm_metadata"):
        if features[name] is not None:
            features[name] = {modality: [_item(text) for text in texts] for modality, texts in features[name].items()}
    return {"token_ids": answer["token_ids"], "features": features}


def _item(text: str) -> dict[str, Any]:
    fields = msgpack.unpackb(base64.b64decode(text), strict_map_key=False)
    for field in fields.values():
        for name in ("slices", "batch_size"):
            field["field"][1].pop(name, None)
    return dict(fields)
