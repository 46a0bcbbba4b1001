"""Our answers about folders made from nothing equal those that the real server gave (`tests.reference.answers`)."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.errors import RenderLayerError
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.multimodal.folders import ANSWERS
from tests.multimodal.folders.requests import kept, requests
from tests.multimodal.folders.table import FOLDERS
from tests.multimodal.recorded import ranges_fault

Answers = dict[str, Any]
RECORDED: dict[str, Answers] = json.loads(ANSWERS.read_text(encoding="utf-8"))


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_the_servers_answers(tmp_path: Path, name: str) -> None:
    FOLDERS[name].write(tmp_path / name)
    names = {"served_model_name": [f"made-{name}"], "model_id_for_hash": f"models/made-{name}"}
    server = ServedModel.open(Settings(model=str(tmp_path / name), trust_request_mm_kwargs=True, **names))
    differing = {
        label: fault
        for label, body in requests(FOLDERS[name])
        if (fault := difference(RECORDED[name][label], ours(server, body))) is not None
    }
    assert not differing


def ours(server: ServedModel, body: Any) -> Answers:
    try:
        answer = render_chat(parse(ChatCompletionRequest, body), server)
    except RenderLayerError as error:
        return kept(error.status, error.body())
    return kept(200, json.loads(json.dumps(answer)))


def difference(want: Answers, got: Answers) -> str | None:
    """What differs, in words; None if nothing does."""
    if want["status"] != 200 or got["status"] != 200 or "mm_hashes" not in want:
        return None if want == got else f"{str(want)[:300]} and not {str(got)[:300]}"
    tokens = list(itertools.chain.from_iterable([token] * count for token, count in want["tokens"]))
    if (fault := ranges_fault(want["mm_placeholders"], got["mm_placeholders"], tokens)) is not None:
        return fault
    for key in ("tokens", "mm_hashes", "kwargs_data", "mm_metadata"):
        if (want[key] or None) != (got[key] or None):
            return f"{key}: {str(want[key])[:400]} and not {str(got[key])[:400]}"
    return None
