"""Videos, made here."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO

import av
import numpy as np

from tests.multimodal.images import encoded, picture


def container(frames: int, width: int, height: int, fps: int = 30, form: str = "mp4", codec: str = "mpeg4") -> bytes:
    """A short film of pictures."""
    buffer = BytesIO()
    with av.open(buffer, "w", format=form) as file:
        stream = file.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for index in range(frames):
            shown = np.asarray(picture(width, height, seed=index))
            for packet in stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    return buffer.getvalue()


def frame_list(sizes: Sequence[tuple[int, int]]) -> str:
    """A `video/jpeg` data URL."""
    files = [encoded(picture(*size, seed=index), "JPEG") for index, size in enumerate(sizes)]
    return "data:video/jpeg;base64," + ",".join(base64.b64encode(file).decode() for file in files)
