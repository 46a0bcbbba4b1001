"""Recorded exchanges of the families: what is promised to be exact equals the reference's answers.

Ranges are narrowed to the positions that receive embeddings, on purpose; they lie within the reference's, and what
they leave out holds no other token that stands for the medium.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
DEVIATIONS = Path(__file__).parents[2] / "layers" / "preprocessing" / "deviations.txt"
SETS = sorted({name for name in (*RECORDINGS.values(), *MORE_RECORDINGS) if name.startswith("fam-")})


@pytest.mark.parametrize("name", SETS)
def test_answers_are_the_references(shared: Path, name: str) -> None:
    server, compared = opened(shared, name), 0
    promises = multimodal.promises(server.model)
    for case in recorded(shared, name):
        kinds = {item.modality for item in media(case)}
        if f"{name}/{case['name']}" in ON_PURPOSE or any(promises.get(kind, "exact") != "exact" for kind in kinds):
            continue
        status, got = answer(server, case["request"])
        assert difference(case, status, got) is None, case["name"]
        assert listed(f"{name}/{case['name']}") == (status == 200 and narrowed(case["response"], got)), case["name"]
        compared += 1
    assert compared


def listed(case: str) -> bool:
    """Whether deviations.txt excepts the case: only those that do differ, or a fault in another would not be seen."""
    lines = (line.partition("#")[0].strip() for line in DEVIATIONS.read_text(encoding="utf-8").splitlines())
    return any(re.fullmatch(line, case) for line in lines if line)


def narrowed(want: Any, got: Any) -> bool:
    """Whether a range differs."""
    return bool(want["features"]) and ranges_of(want) != ranges_of(got)


def ranges_of(answer: Any) -> dict[str, list[tuple[int, int]]]:
    places = answer["features"]["mm_placeholders"].items()
    return {modality: [(each["offset"], each["length"]) for each in items] for modality, items in places}


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
