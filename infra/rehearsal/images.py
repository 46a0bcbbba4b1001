"""A model that takes images, made from nothing, and requests with an image for it."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from infra.rehearsal.caller import Caller
from infra.rehearsal.steps import check
from renderlayer.errors import ConfigurationError

NAME = "pictures"
SIDE = 320


def make_model(folder: Path) -> Path:
    """Write the folder of a small model of the Qwen3-VL family, without weights."""
    from tests.references.vision import make_vision_folder

    return make_vision_folder(folder)


def request(mm_payload: str) -> dict[str, Any]:
    """A chat about a picture."""
    from PIL import Image

    picture = io.BytesIO()
    Image.radial_gradient("L").resize((SIDE, SIDE)).convert("RGB").save(picture, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()}"
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "What is it?"}]
    return {"messages": [{"role": "user", "content": parts}], "mm_payload": mm_payload}


def render(api: Caller) -> str:
    """An image through every `mm_payload`; the reference's object is in the bucket."""
    path, seen = "/v1/chat/completions/render", {}
    for mm_payload in ("none", "tensors", "reference", "auto"):
        features = api.json(path, request(mm_payload))["features"]
        check(len(features["mm_hashes"]["image"]), 1, f"{mm_payload}: hashes")
        seen[mm_payload] = (features.get("kwargs_data") or {}).get("image", [None])[0]
    check(seen["none"], None, "none: payload")
    reference = str(seen["reference"])
    bucket, _, key = reference.removeprefix("s3://").partition("/")
    check(bucket, api.stack.outputs()["ReferencesBucket"], "reference: bucket")
    size = api.stack.cloud.client("s3").head_object(Bucket=bucket, Key=key)["ContentLength"]
    if len(str(seen["tensors"])) < SIDE * SIDE:
        raise ConfigurationError("tensors: the payload is too small to be the picture's")
    return f"none, tensors ({len(str(seen['tensors']))} characters), auto, and a reference to {size} bytes in S3"
