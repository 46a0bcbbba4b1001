"""Videos, opened lazily: containers through PyAV, and lists of JPEG frames (wire.md 4.3, 4.4).

What is known without decoding all frames: their number and rate, the size, and which of them the model will see.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.memory import media_budget
from renderlayer.multimodal.fetch.data_url import decode_base64
from renderlayer.multimodal.image.picture import ImageIO, open_picture
from renderlayer.multimodal.image.truncation_checks import check_bounded
from renderlayer.multimodal.source import Clock, damage
from renderlayer.multimodal.video.sampling import Source
from renderlayer.settings import Settings

_FRAMES = 32  # of a JPEG list, unless the options say otherwise
_MOST_FRAMES = 100_000  # of a container, whether sampled or not
_DECODER_BYTES_A_PIXEL = 36  # the frames that a decoder may refer back to
_DEFAULTS = Settings()
# Containers by their first bytes. Playlists and the like are not among them: they make FFmpeg open other addresses.
_CONTAINERS: tuple[tuple[int, bytes, str], ...] = (
    (4, b"ftyp", "mov"),
    (4, b"moov", "mov"),
    (4, b"mdat", "mov"),
    (4, b"wide", "mov"),
    (0, b"\x1a\x45\xdf\xa3", "matroska"),
    (8, b"AVI ", "avi"),
    (0, b"FLV\x01", "flv"),
    (0, b"OggS", "ogg"),
    (0, b"\x00\x00\x01\xba", "mpeg"),
    (0, b"\x47", "mpegts"),
)


Sample = Callable[[Source, Mapping[str, Any]], list[int]]


@dataclass(frozen=True)
class Clip:
    """The frames of a video that the model will see.

    Args:
        size: (width, height).
        indices: which frames of the source they are.
        metadata: what enters the hash, in the reference's order.
        content: what enters the hash as the video's data.
        frames: decodes them one by one: (height, width, 3) uint8.
    """

    size: tuple[int, int]
    source: Source
    indices: list[int]
    metadata: Mapping[str, Any]
    content: Any
    frames: Callable[[], Iterator[Any]]

    @property
    def decoded_bytes(self) -> int:
        """Memory that all frames take together."""
        return self.size[0] * self.size[1] * 3 * len(self.indices)

    def picked(self, positions: list[int]) -> Clip:
        """The frames at these ascending positions among the loaded ones, as the frames of the source that they name.

        Raises:
            BadRequest: fewer frames were loaded.
        """
        if not positions or positions[-1] >= len(self.indices):
            raise BadRequest(f"The {len(self.indices)} frames that were loaded of the video cannot be sampled again.")
        return replace(self, indices=positions, frames=lambda: _picked(self.frames(), positions))


def open_clip(
    data: bytes,
    options: Mapping[str, Any],
    sample: Sample,
    settings: Settings = _DEFAULTS,
    backend: str = "opencv",
) -> Clip:
    """Open a container and choose frames.

    Args:
        options: `media_io_kwargs.video`.
        sample: the family's choice of frames.
        settings: the limits.
        backend: what the reference calls the reader; it enters the hash.

    Raises:
        BadRequest: no container that is taken, no video in it, or one that is too large.
    """
    form = _container(data)
    if form is None:
        raise BadRequest("Failed to load video: unknown container format")
    try:
        size, source = _inspect(data, form, settings)
    except RenderLayerError:
        raise
    except Exception as error:
        raise _unloadable(error) from error
    _check_pixels(size[0] * size[1] if 0 < source.frames <= _MOST_FRAMES else sys.maxsize, settings)
    indices = sample(source, options)
    if not indices:
        raise BadRequest("Failed to load video: the options leave no frame of it")
    metadata = {
        "total_num_frames": source.frames,
        "fps": source.fps,
        "duration": source.duration,
        "video_backend": backend,
        "frames_indices": indices,
        "do_sample_frames": len(indices) == source.frames,
    }
    return Clip(size, source, indices, metadata, data, lambda: _decoded(data, form, indices, settings))


def open_frames(text: bytes, options: Mapping[str, Any], image_io: ImageIO, settings: Settings = _DEFAULTS) -> Clip:
    """Open a `video/jpeg` data URL: base64 JPEG files, separated by commas.

    Args:
        settings: the limits.

    Raises:
        BadRequest: a frame is no image, the frames differ in size, or the options contradict them.
    """
    most = options.get("num_frames", _FRAMES)
    if not isinstance(most, int) or most == 0:
        raise BadRequest("num_frames must be greater than 0 or -1")
    parts = text.decode("ascii", "replace").split(",")
    pictures = [open_picture(decode_base64(part), image_io, settings) for part in (parts[:most] if most > 0 else parts)]
    size, count = pictures[0].size, len(pictures)
    if any(picture.size != size for picture in pictures):
        raise BadRequest("All frames of a video must have the same size.")
    source, indices = _described(count, options)
    metadata = {
        "total_num_frames": source.frames,
        "fps": source.fps,
        "duration": source.duration,
        "video_backend": "jpeg_sequence",
        "frames_indices": indices,
        "do_sample_frames": bool(options.get("do_sample_frames", False)),
    }

    def frames() -> Iterator[Any]:
        import numpy as np

        return (np.asarray(picture.rgb()) for picture in pictures)

    return Clip(size, source, indices, metadata, text, frames)


def _described(count: int, options: Mapping[str, Any]) -> tuple[Source, list[int]]:
    """What the client says of the video that its frames are from."""
    fps = options.get("fps", 1)
    total = options.get("total_num_frames", count)
    indices = options.get("frames_indices", list(range(count)))
    duration = options.get("duration")
    if not isinstance(fps, (int, float)):
        raise BadRequest("fps must be a number")
    if not isinstance(total, int) or total < count:
        raise BadRequest(f"total_num_frames must be at least the number of frames sent ({count})")
    if not isinstance(indices, list) or len(indices) != count or not all(isinstance(index, int) for index in indices):
        raise BadRequest(f"frames_indices must be a list of {count} integers, one for each frame sent")
    if duration is None:
        duration = total / fps if fps > 0 else 0.0
    elif not isinstance(duration, (int, float)) or duration < 0:
        raise BadRequest("duration must be a non-negative number")
    return Source(total, float(fps), duration), indices


def _picked(frames: Iterator[Any], positions: list[int]) -> Iterator[Any]:
    wanted = iter(positions)
    position = next(wanted, None)
    for index, frame in enumerate(frames):
        while position == index:
            yield frame
            position = next(wanted, None)
        if position is None:
            return


def _container(data: bytes) -> str | None:
    return next((form for at, magic, form in _CONTAINERS if data.startswith(magic, at)), None)


def _open(data: bytes, form: str) -> Any:
    import av

    return av.open(BytesIO(data), format=form, options={"protocol_whitelist": "none"})


def _inspect(data: bytes, form: str, settings: Settings) -> tuple[tuple[int, int], Source]:
    """Size as shown (rotated), and what the container says; decodes the first frame."""
    with _open(data, form) as container:
        stream = container.streams.video[0]
        fps = float(stream.average_rate or 0)
        duration = float(stream.duration * stream.time_base) if stream.duration else (container.duration or 0) / 1e6
        frames = stream.frames or int(duration * fps)
        claimed = (stream.codec_context.width or 0) * (stream.codec_context.height or 0)
        _check_pixels(claimed, settings)
        with media_budget(settings.media_memory_bytes).holding(_DECODER_BYTES_A_PIXEL * claimed):
            first = next(_frames(container, settings))
        width, height = first.width, first.height
        if first.rotation % 180:
            width, height = height, width
    return (width, height), Source(frames, fps, frames / fps if fps else duration)


def _check_pixels(pixels: int, settings: Settings) -> None:
    if pixels > settings.max_image_pixels:
        raise BadRequest(
            f"Failed to load video: at most {settings.max_image_pixels} pixels a frame and {_MOST_FRAMES} frames"
        )


def _frames(container: Any, settings: Settings) -> Iterator[Any]:
    """All frames, while there is time.

    Raises:
        OSError: there is none left, or a frame is made to take long.
    """
    clock, stream = Clock(settings.video_decode_seconds), container.streams.video[0]
    of_jpeg = stream.codec_context.name in ("mjpeg", "mjpegb")
    for packet in container.demux(stream):
        if of_jpeg and packet.size:
            check_bounded(bytes(packet))
        for frame in packet.decode():
            clock.check()
            yield frame
        clock.check()


def _decoded(data: bytes, form: str, indices: Sequence[int], settings: Settings) -> Iterator[Any]:
    """The frames with these indices, in order.

    Raises:
        BadRequest: the container promised more frames than it holds, they are damaged, or take too long.
    """
    wanted = iter(sorted(indices))
    index = next(wanted, None)
    try:
        with _open(data, form) as container:
            for position, frame in enumerate(_frames(container, settings)):
                while index == position:
                    yield _upright(frame)
                    index = next(wanted, None)
                if index is None:
                    return
    except BadRequest:
        raise
    except Exception as error:
        raise _unloadable(error) from error
    raise BadRequest("Failed to load video: it holds fewer frames than it says")


def _unloadable(error: Exception) -> BadRequest:
    return BadRequest(f"Failed to load video: {damage(error)}")


def _upright(frame: Any) -> Any:
    import numpy as np

    image = frame.to_ndarray(format="rgb24")
    return np.ascontiguousarray(np.rot90(image, frame.rotation // 90)) if frame.rotation else image
