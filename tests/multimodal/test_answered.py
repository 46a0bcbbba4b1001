"""Small videos made here, and what vLLM 0.33's render server answered to them, as digests."""

from __future__ import annotations

import base64
import hashlib
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.multimodal.images import png
from tests.multimodal.test_recordings import comparable

ANSWERS = {("tiny-qwen2.5-vl", 2): "224c7968eddd345879a3da16", ("tiny-qwen2.5-vl", 5): "8c93b7c14c859ff6fdd3b552"}
"""Model and number of frames → digest of token ids, ranges and fields."""


def request(frames: int, width: int = 90, height: int = 62) -> dict[str, Any]:
    """A chat about a list of frames, written without an imaging library so that they are the same everywhere."""
    parts = []
    for seed in range(frames):
        chance = random.Random(seed)
        rows = b"".join(b"\x00" + chance.randbytes(3 * width) for _ in range(height))
        data = png(struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), rows)
        parts.append(base64.b64encode(data).decode())
    video = {"type": "video_url", "video_url": {"url": f"data:video/jpeg;base64,{','.join(parts)}"}}
    return {"messages": [{"role": "user", "content": [video, {"type": "text", "text": "x"}]}]}


def digest(answer: dict[str, Any]) -> str:
    shown = comparable(answer)
    features = {name: shown["features"][name] for name in ("mm_placeholders", "kwargs_data")}
    for items in features["kwargs_data"].values():
        items[:] = [sorted(item.items()) for item in items]
    return hashlib.sha256(repr((shown["token_ids"], sorted(features.items()))).encode()).hexdigest()[:24]


@pytest.mark.parametrize(("name", "frames"), ANSWERS)
def test_the_servers_answer(shared: Path, name: str, frames: int) -> None:
    server = ServedModel.open(Settings(model=str(shared / "models" / name), served_model_name=[name]))
    answer = render_chat(parse(ChatCompletionRequest, request(frames)), server)
    assert digest(answer) == ANSWERS[name, frames]
