"""Recorded exchanges of the families: what is promised to be exact equals the reference's answers.

Ranges are narrowed to the positions that receive embeddings, on purpose; they lie within the reference's, and what
they leave out holds no other token that stands for the medium.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from renderlayer import multimodal
from renderlayer.errors import RenderLayerError
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.multimodal.evidence import MORE_RECORDINGS, RECORDINGS
from tests.multimodal.recorded import media, ranges_fault
from tests.multimodal.test_recordings import comparable, settings_of

ON_PURPOSE = {
    *(f"fam-gemma3n/{case}" for case in ("img_two", "aud_two", "aud_same_twice", "aud_img")),
    "fam-gemma4/vid_img",
}
"""Answered here, and refused by the reference for faults of its own: ranges of neighbours that overlap, and metadata of
one modality only (wire.md 9.12)."""
SETS = sorted({name for name in (*RECORDINGS.values(), *MORE_RECORDINGS) if name.startswith("fam-")})


@pytest.mark.parametrize("name", SETS)
def test_answers_are_the_references(shared: Path, name: str) -> None:
    server, compared = opened(shared, name), 0
    promises = multimodal.promises(server.model)
    for case in recorded(shared, name):
        kinds = {item.modality for item in media(case)}
        if f"{name}/{case['name']}" in ON_PURPOSE or any(promises.get(kind, "exact") != "exact" for kind in kinds):
            continue
        assert difference(case, *answer(server, case["request"])) is None, case["name"]
        compared += 1
    assert compared


@pytest.mark.parametrize("name", ["fam-granite-speech"])
def test_sound_is_near_the_references(shared: Path, name: str) -> None:
    """Tokens, ranges and shapes are equal; values differ by as much as the processors that computed them."""
    server, compared = opened(shared, name), 0
    for case in recorded(shared, name):
        if "audio" not in {item.modality for item in media(case)}:
            continue
        status, got = answer(server, case["request"])
        assert status == case["status"], case["name"]
        if status != 200:
            continue
        assert got["token_ids"] == case["response"]["token_ids"], case["name"]
        wide, narrow = case["response"]["features"], got["features"]
        assert wide["mm_placeholders"] == narrow["mm_placeholders"], case["name"]
        if wide["kwargs_data"] is not None:
            sounds = (comparable(each)["features"]["kwargs_data"]["audio"] for each in (case["response"], got))
            for theirs, ours in zip(*sounds, strict=True):
                assert theirs.keys() == ours.keys()
                for field in theirs:
                    assert distance(theirs[field]["data"], ours[field]["data"]) < 0.02, (case["name"], field)
                    compared += 1
    assert compared


def distance(theirs: Any, ours: Any) -> float:
    """The largest difference of two tensors' values."""
    assert theirs[:2] == ours[:2]
    if theirs[0] != "bfloat16":
        return 0.0 if theirs == ours else math.inf
    values = [(np.frombuffer(each[2].data, "<u2").astype(np.uint32) << 16).view(np.float32) for each in (theirs, ours)]
    return float(np.abs(values[0] - values[1]).max())


def opened(shared: Path, name: str) -> ServedModel:
    settings = settings_of(next(recorded(shared, name)))
    folder = str(shared / settings.model)
    return ServedModel.open(Settings(**{**vars(settings), "model": folder, "model_id_for_hash": settings.model}))


def recorded(shared: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(shared / "corpus" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def answer(server: ServedModel, body: Any) -> tuple[int, Any]:
    try:
        return 200, json.loads(json.dumps(render_chat(parse(ChatCompletionRequest, body), server)))
    except RenderLayerError as error:
        return error.status, error.body()


def difference(case: dict[str, Any], status: int, got: Any) -> str | None:
    """What differs, in words; None if nothing does."""
    want = case["response"]
    if status != case["status"]:
        return f"status {status} and not {case['status']}: {str(got)[:300]}"
    if status != 200:
        return (
            None
            if (got["error"]["type"], got["error"]["param"]) == (want["error"]["type"], want["error"]["param"])
            else str(got)
        )
    if want["token_ids"] != got["token_ids"]:
        return f"tokens {want['token_ids'][:60]} and not {got['token_ids'][:60]}"
    if want["features"] is None or got["features"] is None:
        return None if want["features"] == got["features"] else "features are missing"
    whole, ours = comparable(want)["features"], comparable(got)["features"]
    wide, narrow = whole.pop("mm_placeholders"), ours.pop("mm_placeholders")
    if (fault := ranges_fault(wide, narrow, want["token_ids"])) is not None:
        return fault
    return next((_told(key, whole[key], ours[key]) for key in whole if not _equal(whole[key], ours[key])), None)


def _equal(want: Any, got: Any) -> bool:
    """A modality without metadata may be left out or hold nulls."""
    if isinstance(want, dict) and isinstance(got, dict):
        return all(
            want.get(key) == got.get(key) or (not want.get(key) and not any(got[key])) for key in want.keys() | got
        )
    return bool(want == got)


def _told(key: str, want: Any, got: Any) -> str:
    if isinstance(want, dict) and isinstance(got, dict) and key == "kwargs_data":
        for modality, items in want.items():
            for item, mine in zip(items, got.get(modality, []), strict=False):
                for name in item.keys() | mine.keys():
                    if item.get(name) != mine.get(name):
                        return f"{modality}.{name}: {str(item.get(name))[:200]} and not {str(mine.get(name))[:200]}"
    return f"{key}: {str(want)[:200]} and not {str(got)[:200]}"
