"""Audio: decoded to mono float32 at the model's rate (wire.md 4.3).

PCM in WAV files is read here, anything else through PyAV. Samples of another rate are resampled by a windowed sinc,
or by FFmpeg's resampler where the rates have hardly a factor in common.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.memory import Hold, media_budget
from renderlayer.multimodal.source import Clock
from renderlayer.settings import Settings

Samples = NDArray[np.float32]

_DECODED_BYTES = 268_435_456  # of a file's samples, all channels
_MOST_CHUNKS = 1000  # of a WAV file
_STEP, _COPIES = 16 << 20, 2  # bytes of samples that are counted at a time, and how often they are in memory

_CONTAINERS: tuple[tuple[int, bytes, str], ...] = (
    (8, b"WAVE", "wav"),
    (0, b"fLaC", "flac"),
    (0, b"OggS", "ogg"),
    (0, b"ID3", "mp3"),
    (0, b"\xff\xfb", "mp3"),
    (0, b"\xff\xf3", "mp3"),
    (0, b"\xff\xf2", "mp3"),
    (0, b"\xff\xf1", "aac"),
    (0, b"\xff\xf9", "aac"),
    (8, b"AIFF", "aiff"),
    (4, b"ftyp", "mov"),
    (0, b"\x1a\x45\xdf\xa3", "matroska"),
)
# Format tag and bits of a sample in a WAV file → dtype, and what full scale is.
_PCM = {(1, 16): ("<i2", 1 << 15), (1, 32): ("<i4", 1 << 31), (3, 32): ("<f4", 1), (3, 64): ("<f8", 1)}


@dataclass(frozen=True)
class Sound:
    """Mono samples in [−1, 1] and their rate."""

    samples: Samples
    rate: int


def open_sound(data: bytes, rate: int, settings: Settings) -> Sound:
    """Decode a file and bring it to `rate` samples a second.

    Args:
        settings: the limits.

    Raises:
        BadRequest: not audio, damaged, or longer or larger than allowed.
    """
    if len(data) > settings.max_audio_bytes:
        raise BadRequest(f"Audio files may have at most {settings.max_audio_bytes} bytes.")
    try:
        native = _pcm(data) or _decoded(data, settings)
    except RenderLayerError:
        raise
    except Exception as error:
        raise BadRequest("Invalid or unsupported audio file.") from error
    if len(native.samples) > settings.max_audio_seconds * native.rate:
        raise BadRequest(f"Audio may be at most {settings.max_audio_seconds:g} seconds long.")
    return native if native.rate == rate else Sound(_resampled(native, rate), rate)


def _pcm(data: bytes) -> Sound | None:
    """The samples of an uncompressed WAV file; None for anything else."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    at, form = 12, b""
    for _ in range(_MOST_CHUNKS):
        if at + 8 > len(data):
            break
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        body = data[at + 8 : at + 8 + size]
        if kind == b"fmt ":
            form = body
        elif kind == b"data" and form:
            return _scaled(form, body)
        at += 8 + size + size % 2
    return None


def _scaled(form: bytes, body: bytes) -> Sound | None:
    tag, channels = int.from_bytes(form[:2], "little"), int.from_bytes(form[2:4], "little")
    rate, bits = int.from_bytes(form[4:8], "little"), int.from_bytes(form[14:16], "little")
    known = _PCM.get((tag, bits))
    if known is None or not channels or not rate:
        return None
    dtype, full = known
    frame = channels * bits // 8
    raw = np.frombuffer(body[: len(body) // frame * frame], dtype)
    samples = raw.astype(np.float32) / np.float32(full)
    return Sound(_mono(samples.reshape(-1, channels).T), rate)


def _decoded(data: bytes, settings: Settings) -> Sound:
    import av

    form = next((name for at, magic, name in _CONTAINERS if data.startswith(magic, at)), None)
    if form is None:
        raise BadRequest("Invalid or unsupported audio file.")
    parts: list[Samples] = []
    decoded, counted = 0, 0
    clock, hold = Clock(settings.media_decode_seconds), Hold(media_budget(settings.media_memory_bytes), 0)
    with av.open(BytesIO(data), format=form, options={"protocol_whitelist": "none"}) as container:
        stream = container.streams.audio[0]
        planar = av.AudioResampler(format="fltp")
        for frame in container.decode(stream):
            for part in planar.resample(frame):
                parts.append(_mono(part.to_ndarray()))
                decoded += part.samples * 4 * part.layout.nb_channels
            clock.check()
            if decoded - counted >= _STEP:
                hold.keep(0, _COPIES * (decoded - counted))
                counted = decoded
            if decoded > _DECODED_BYTES:
                raise BadRequest(f"Audio may take at most {_DECODED_BYTES} bytes once decoded.")
        rate = int(stream.rate)
    if not parts:
        raise BadRequest("Invalid or unsupported audio file.")
    return Sound(np.concatenate(parts), rate)


def _mono(channels: Samples) -> Samples:
    """The mean of (channels, samples)."""
    return np.ascontiguousarray(channels[0] if len(channels) == 1 else channels.mean(axis=0, dtype=np.float32))


def _resampled(sound: Sound, rate: int) -> Samples:
    from renderlayer.multimodal.audio.resample import is_taken, resample

    if is_taken(sound.rate, rate):
        return resample(sound.samples, sound.rate, rate)
    import av

    frame: Any = av.AudioFrame.from_ndarray(sound.samples[None], format="fltp", layout="mono")
    frame.sample_rate = sound.rate
    resampler = av.AudioResampler(format="fltp", layout="mono", rate=rate)
    parts = [part.to_ndarray()[0] for part in (*resampler.resample(frame), *resampler.resample(None))]
    expected = math.ceil(len(sound.samples) * rate / sound.rate)
    return np.ascontiguousarray(np.concatenate(parts)[:expected])
