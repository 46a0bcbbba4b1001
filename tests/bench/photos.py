"""`python -m tests.bench.photos`: what a photo costs, with and without its pixels.

1. Layout: a 1080p photo with `mm_payload` "none" over the runtime client, and which heavy modules that loads.
2. Pixels: processor time of a render with tensors beside Hugging Face's processor and base64, on one photo.
3. Memory: the most that a process holds which renders ten photos of 12 megapixels.
"""

from __future__ import annotations

import base64
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from renderlayer.bundle.pack import pack
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.bench.measure import warm
from tests.events import http_api
from tests.functions.test_imports import PROGRAM, imported
from tests.multimodal.images import data_url, encoded, picture
from tests.references.vision import make_vision_folder
from tests.runtime import Function

PATH = "/v1/chat/completions/render"
CONTEXT = 262_144
QUALITY = 20
"""The picture is noisy: at this quality it has about the bytes of a real photo of that size."""
PHOTOS = 10
ROUNDS = 9
MEGABYTE = 1 << 20
HEAVY = {"torch", "transformers", "numpy", "PIL"}
"""What a layout does without."""


def main() -> None:
    if len(sys.argv) == 2:  # the process whose memory is measured
        ten(Path(sys.argv[1]))
        return
    with TemporaryDirectory() as scratch:
        folder = make_vision_folder(Path(scratch) / "vision", CONTEXT)
        bundle = Path(scratch) / "bundle"
        pack(folder, bundle)
        photo = encoded(picture(1920, 1080), "JPEG", quality=QUALITY)
        layout(bundle, photo)
        pixels(folder, bundle, photo)
        held = subprocess.run(
            [sys.executable, "-m", "tests.bench.photos", str(bundle)], check=True, capture_output=True, text=True
        )
        print(f"{PHOTOS} photos of 12 megapixels  peak {held.stdout.strip()} MB")


def chat(*photos: bytes, payload: str) -> dict[str, Any]:
    """A request with photos."""
    parts = [{"type": "image_url", "image_url": {"url": data_url(photo, "image/jpeg")}} for photo in photos]
    return {"messages": [{"role": "user", "content": parts}], "mm_payload": payload}


def layout(bundle: Path, photo: bytes) -> None:
    """Print the time of a render without payload, and of a function that leaves the same body unread."""
    body = json.dumps(chat(photo, payload="none"))
    event = http_api(PATH, body)
    with Function("tests.bench.hello.handler") as function:
        least = warm(function, http_api("/hello", body))
    environment = {"RENDERLAYER_MODEL": str(bundle)}
    with Function("functions.render.app.handler", environment) as function:
        milliseconds = warm(function, event)
    loaded = imported(PROGRAM.replace("{name}", "render"), event, environment) & HEAVY
    print(f"photo, {len(photo) >> 10} KB, layout only   {milliseconds:7.2f} ms   heavy modules: {loaded or 'none'}")
    print(f"hello world, same body       {least:7.2f} ms")


def pixels(folder: Path, bundle: Path, photo: bytes) -> None:
    """Print the processor time of a render with tensors, and of Hugging Face's processor where it is installed."""
    server = ServedModel.open(Settings(model=str(bundle)))
    body = chat(photo, payload="tensors")
    ours = processor_time(lambda: render_chat(parse(ChatCompletionRequest, body), server, None))
    print(f"photo, tensors               {ours:7.1f} ms of processor")
    if find_spec("transformers"):
        theirs = processor_time(hugging_face(folder, photo))
        print(f"photo, Hugging Face          {theirs:7.1f} ms of processor ({theirs / ours:.1f} x)")


def hugging_face(folder: Path, photo: bytes) -> Callable[[], str]:
    """Decoding, the model's image processor, and base64 of the float32 values that it gives."""
    from PIL import Image
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(folder)
    return lambda: base64.b64encode(
        processor(Image.open(BytesIO(photo)).convert("RGB"), return_tensors="np")["pixel_values"].tobytes()
    ).decode()


def processor_time(work: Callable[[], Any]) -> float:
    """Median milliseconds of processor time, all threads together."""
    work()
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1e3)
    return statistics.median(times)


def ten(bundle: Path) -> None:
    """Render the large photos and print the process's peak of memory in megabytes."""
    server = ServedModel.open(Settings(model=str(bundle)))
    photos = [encoded(picture(4000, 3000, seed=seed), "JPEG", quality=80) for seed in range(PHOTOS)]
    render_chat(parse(ChatCompletionRequest, chat(*photos, payload="tensors")), server, None)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // MEGABYTE)


if __name__ == "__main__":
    main()
