"""Audio: decoding, resampling, spectrograms, and the families that listen."""

from __future__ import annotations

import base64
import hashlib
import math
import wave
from collections.abc import Callable
from io import BytesIO
from typing import Any

import av
import msgpack
import numpy as np
import pytest
from numpy.typing import NDArray

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import MediaItem
from renderlayer.multimodal.arrays import bfloat16, tensor
from renderlayer.multimodal.audio import fourier, fourier_512, resample, spectrogram
from renderlayer.multimodal.audio.sound import Sound, open_sound
from renderlayer.multimodal.families import build
from renderlayer.multimodal.families.base import Facts, Family
from renderlayer.multimodal.tensor import int32, int64
from renderlayer.settings import Settings
from tests.multimodal.processed import Words

RATE = 16_000
SETTINGS = Settings(model="m")


def tone(seconds: float, rate: int = RATE) -> NDArray[np.float32]:
    time = np.arange(int(seconds * rate)) / rate
    loudness = 0.4 + 0.4 * np.sin(2 * np.pi * 3 * time)
    return (loudness * np.sin(2 * np.pi * 440 * time)).astype(np.float32)


def wav(samples: NDArray[Any], rate: int = RATE, channels: int = 1) -> bytes:
    buffer = BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return buffer.getvalue()


def compressed(samples: NDArray[np.float32], form: str, codec: str, sample_format: str) -> bytes:
    buffer = BytesIO()
    with av.open(buffer, "w", format=form) as file:
        stream = file.add_stream(codec, rate=RATE, layout="mono")
        source = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        source.sample_rate = RATE
        convert = av.AudioResampler(
            format=sample_format, layout="mono", rate=RATE, frame_size=stream.frame_size or 1024
        )
        for frame in (*convert.resample(source), *convert.resample(None)):
            for packet in stream.encode(frame):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    return buffer.getvalue()


def test_pcm_keeps_its_samples() -> None:
    samples = np.array([-32768, -1, 0, 1, 32767], "<i2")
    buffer = BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    sound = open_sound(buffer.getvalue(), RATE, SETTINGS)
    assert sound.samples.dtype == np.float32
    assert sound.samples.tolist() == (samples / 32768).tolist()


def test_channels_are_averaged() -> None:
    both = np.stack([np.full(100, 0.5), np.full(100, -0.25)], axis=1)
    assert np.allclose(open_sound(wav(both.reshape(-1), channels=2), RATE, SETTINGS).samples, 0.125, atol=1e-4)


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 44_101])
def test_other_rates_are_resampled(rate: int) -> None:
    """The last of these rates has no factor in common with the model's, and so goes through FFmpeg."""
    sound = open_sound(wav(tone(1, rate), rate), RATE, SETTINGS)
    assert (len(sound.samples), sound.rate) == (RATE, RATE)
    middle = slice(1000, -1000)
    assert np.abs(sound.samples[middle] - tone(1)[middle]).max() < 0.01


@pytest.mark.parametrize(("rate", "wanted"), [(44_100, RATE), (8_000, RATE), (RATE, 8_000), (12_000, RATE)])
def test_resampling_is_the_sum_that_defines_it(rate: int, wanted: int) -> None:
    """Each sample is the sum over its neighbours of a sinc below 0.99 of the lower Nyquist rate under a Hann window."""
    samples = np.random.default_rng(1).standard_normal(900).astype(np.float32)
    cutoff = 0.99 * min(rate, wanted)
    at = np.arange(math.ceil(len(samples) * wanted / rate)) / wanted
    lobes = (np.arange(len(samples))[None] / rate - at[:, None]) * cutoff
    window = np.where(np.abs(lobes) < 6, np.cos(np.clip(lobes, -6, 6) * np.pi / 12) ** 2, 0.0)
    expected = (np.sinc(lobes) * window * (cutoff / rate)) @ samples.astype(np.float64)
    assert np.abs(resample.resample(samples, rate, wanted) - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("rate", "digest"),
    [
        (8_000, "867b293a7f85b43a"),
        (11_025, "7a38abd9e33c69e1"),
        (22_050, "8030a8ef00e7d450"),
        (24_000, "ad148657839946e4"),
        (32_000, "10309af4568fae28"),
        (44_100, "f64fc18fc91b13d6"),
        (48_000, "e5d8cfb746266191"),
        (96_000, "f802e68f32a519b5"),
    ],
)
def test_resampled_bits_are_those_of_torchaudio(rate: int, digest: str) -> None:
    """Digests of what torchaudio 2.11 makes of the signal with torch 2.13, one thread and no oneDNN, as the reference
    sets them, where MKL takes its path for Intel's AVX-512."""
    samples = (np.arange(rate // 3) * 7919 % 20_011 - 10_005).astype(np.float32) / np.float32(10_007)
    ours = resample.resample(samples, rate, RATE)
    assert hashlib.sha256(ours.tobytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize(
    ("form", "codec", "sample_format", "gap"),
    [("flac", "flac", "s16", 1e-4), ("aiff", "pcm_s16be", "s16", 1e-4), ("wav", "pcm_u8", "u8", 0.01)],
)
def test_other_formats(form: str, codec: str, sample_format: str, gap: float) -> None:
    sound = open_sound(compressed(tone(0.5), form, codec, sample_format), RATE, SETTINGS)
    assert np.abs(sound.samples[: RATE // 2] - tone(0.5)).max() < gap


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"AAAA", b"RIFF\x00\x00\x00\x00WAVE", b"fLaC" + bytes(40), b"ID3" + bytes(40)]
)
def test_what_is_no_audio_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest, match="Invalid or unsupported audio file"):
        open_sound(data, RATE, SETTINGS)


def test_limits() -> None:
    with pytest.raises(BadRequest, match="bytes"):
        open_sound(bytes((25 << 20) + 1), RATE, SETTINGS)
    with pytest.raises(BadRequest, match="at most 600 seconds"):
        open_sound(wav(np.zeros(601 * 8), 8), RATE, SETTINGS)
    with pytest.raises(BadRequest, match=r"at most 1\.5 seconds"):
        open_sound(wav(np.zeros(16), 8), RATE, Settings(max_audio_seconds=1.5))


@pytest.mark.parametrize("bands", [80, 128])
@pytest.mark.parametrize("seconds", [0.5, 3.01])
def test_spectrograms_are_those_of_whispers_extractor(bands: int, seconds: float) -> None:
    """Near to what the installed torch computes, whose last bits depend on the processor."""
    pytest.importorskip("torch")
    extractor = pytest.importorskip("transformers").WhisperFeatureExtractor(feature_size=bands)
    samples = np.zeros(30 * RATE, np.float32)
    samples[: int(seconds * RATE)] = tone(seconds)
    expected = extractor(samples, sampling_rate=RATE, return_tensors="np").input_features[0]
    assert np.abs(spectrogram.log_mel(samples, bands) - expected).max() < 0.02


@pytest.mark.parametrize(
    ("transforms", "digest"), [(fourier, "3db4ab1bec682018"), (fourier_512, "a9c547b5e367887d")], ids=["400", "512"]
)
def test_transforms_have_the_bits_of_mkl(transforms: Any, digest: str) -> None:
    """A digest of what torch 2.13 computes of the frames where MKL takes its path for Intel's AVX-512."""
    length = transforms.LENGTH
    frames = (np.arange(40 * length) * 7919 % 20_011 - 10_005).astype(np.float32).reshape(40, -1) / np.float32(10_007)
    real, imaginary = transforms.transform(frames)
    assert hashlib.sha256(real.tobytes() + np.abs(imaginary).tobytes()).hexdigest()[:16] == digest
    assert np.allclose(real + 1j * imaginary, np.fft.rfft(frames.astype(np.float64)).T, atol=1e-4)


@pytest.mark.parametrize(("bands", "digest"), [(80, "9306c9e4798417ac"), (128, "cc8c5df0fcbee200")])
def test_spectrograms_have_the_bits_of_the_reference(bands: int, digest: str) -> None:
    """The same of Whisper's extractor, in bfloat16."""
    samples = np.zeros(RATE, np.float32)
    samples[:9_000] = noise(9_000)
    assert hashlib.sha256(bfloat16(spectrogram.log_mel(samples, bands)).tobytes()).hexdigest()[:16] == digest


def test_htk_spectrograms_have_the_bits_of_the_reference() -> None:
    """The same of torchaudio's spectrogram, (frames, bands)."""
    frames = np.ascontiguousarray(spectrogram.htk_log_mel(noise(9_000), 80, RATE, 160).T)
    assert frames.shape == (57, 80)
    assert hashlib.sha256(bfloat16(frames).tobytes()).hexdigest()[:16] == "84f67331f8015721"


def noise(count: int) -> NDArray[np.float32]:
    samples: NDArray[np.float32] = (np.arange(count) * 7919 % 20_011 - 10_005).astype(np.float32) / np.float32(10_007)
    return samples


@pytest.mark.parametrize("place", [0, 200, 8_000, 15_700, 15_800, 15_959, 15_999])
def test_silence_is_not_computed(place: int) -> None:
    """A click in silence is heard in the same frames as in a whisper."""
    click, whisper = np.zeros(RATE, np.float32), np.full(RATE, 1e-12, np.float32)
    click[place] = whisper[place] = 0.5
    assert np.abs(spectrogram.log_mel(click, 80) - spectrogram.log_mel(whisper, 80)).max() < 1e-5


def test_htk_filters_are_those_of_transformers() -> None:
    utilities = pytest.importorskip("transformers.audio_utils")
    expected = utilities.mel_filter_bank(257, 80, 0.0, 8000.0, RATE, mel_scale="htk")
    assert np.abs(spectrogram._htk_filters(80, RATE) - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("samples", "rows", "count"), [(257, 1, 3), (4_800, 15, 3), (48_000, 150, 30), (48_160, 151, 33)]
)
def test_granite_speech(samples: int, rows: int, count: int) -> None:
    """Three tokens for every 15 pairs of frames."""
    config = {"architectures": ["GraniteSpeechForConditionalGeneration"], "audio_token_index": 9}
    family = build(Facts(config, {}, {}, {}, {}, Words()))
    assert family is not None and family.item_limits == {"audio": 1}
    plan = family.plan("audio", Sound(tone(4)[:samples], RATE), {})
    fields = plan.fields()
    assert plan.replacement == [9] * count
    assert fields["input_features"].value.shape == (rows, 160)
    assert plan.metadata == {"audio_embed_sizes": fields["audio_embed_sizes"]}
    assert fields["audio_embed_sizes"].value == int64(count)
    with pytest.raises(BadRequest, match="too short"):
        family.plan("audio", Sound(tone(1)[:256], RATE), {})


def audio(data: bytes) -> MediaItem:
    payload = {"data": base64.b64encode(data).decode(), "format": "wav"}
    return MediaItem("audio", {"type": "input_audio", "input_audio": payload})


@pytest.fixture(scope="module")
def listener(make_model: Callable[..., Model]) -> Model:
    files = {"preprocessor_config": {"feature_size": 128, "sampling_rate": RATE, "chunk_length": 30}}
    return make_model("qwen2_audio", ("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"), files)


@pytest.mark.parametrize(("seconds", "count"), [(1, 25), (3.01, 75), (31, 750)])
def test_qwen2_audio(listener: Model, seconds: float, count: int) -> None:
    """A token every 40 ms, of at most 30 seconds."""
    ids = listener.tokenizer.encode(multimodal.placeholder(listener, "audio", 1))
    expanded = multimodal.apply(listener, SETTINGS, ids, [audio(wav(tone(seconds)))])
    token = listener.vocabulary.id_of("<|AUDIO|>")
    assert expanded.token_ids.count(token) == count
    (place,) = expanded.features["mm_placeholders"]["audio"]
    assert place["length"] == count and "is_embed" not in place, "the template's marks around the sound stay"
    fields = msgpack.unpackb(base64.b64decode(expanded.features["kwargs_data"]["audio"][0]))
    assert fields["input_features"]["data"][:2] == ["bfloat16", [128, 3000]]
    assert fields["feature_attention_mask"]["data"][:2] == ["int32", [3000]]
    assert expanded.features["mm_metadata"] is None


def test_equal_samples_hash_alike(listener: Model) -> None:
    """The hash is that of the samples: two encodings of the same sound share it."""
    ids = listener.tokenizer.encode("<|AUDIO|>")
    pcm = wav(tone(0.25))
    packed = pcm[:36] + b"LIST\x04\x00\x00\x00abcd" + pcm[36:]
    hashes = {
        multimodal.apply(listener, SETTINGS, ids, [audio(data)], payload="none").features["mm_hashes"]["audio"][0]
        for data in (pcm, packed)
    }
    assert len(hashes) == 1


def test_too_short(listener: Model) -> None:
    with pytest.raises(BadRequest, match="too short"):
        multimodal.apply(listener, SETTINGS, listener.tokenizer.encode("<|AUDIO|>"), [audio(wav(tone(0.01)))])


def gemma(architecture: str) -> Family:
    config = {"architectures": [architecture], "audio_config": {}}
    family = build(Facts(config, {}, {}, {}, {}, Words()))
    assert family is not None and "audio" not in family.gaps
    return family


@pytest.mark.parametrize("model", ["Gemma3n", "Gemma4"])
@pytest.mark.parametrize("seconds", [0.034, 0.3, 1, 3.01, 30, 31.03])
@pytest.mark.parametrize("options", [{}, {"input_scale_factor": 0.5, "preemphasis_htk_flavor": False}])
def test_gemma_is_exact(model: str, seconds: float, options: dict[str, Any]) -> None:
    module = pytest.importorskip(f"transformers.models.{model.lower()}.feature_extraction_{model.lower()}")
    samples = tone(seconds)
    extractor = getattr(module, f"{model}AudioFeatureExtractor")(**options)
    out = extractor([samples], sampling_rate=RATE, truncation=model == "Gemma3n")
    mel, mask = out["input_features"][0], out["input_features_mask"][0]
    if model == "Gemma4":
        mel, mask = mel[mask], mask[mask]
    family = gemma(f"{model}ForConditionalGeneration")
    fields = family.plan("audio", Sound(samples, RATE), {"audio_kwargs": options}).fields()
    assert fields["input_features_padded"].value == tensor("bfloat16", bfloat16(mel))
    assert fields["input_features_mask"].value == tensor("bool", mask)


@pytest.mark.parametrize(("model", "fewest"), [("Gemma3n", 513), ("Gemma4", 161)])
def test_gemma_needs_a_frame(model: str, fewest: int) -> None:
    family = gemma(f"{model}ForConditionalGeneration")
    with pytest.raises(BadRequest, match="too short"):
        family.plan("audio", Sound(tone(1)[: fewest - 1], RATE), {})
    fields = family.plan("audio", Sound(tone(1)[:fewest], RATE), {}).fields()
    assert fields["input_features_padded"].value.shape == (1, 128)


@pytest.mark.parametrize(("samples", "count"), [(161, 1), (16_000, 25), (480_000, 750), (600_000, 750)])
def test_gemma4_has_a_token_every_40_ms(samples: int, count: int) -> None:
    plan = gemma("Gemma4ForConditionalGeneration").plan("audio", Sound(np.zeros(samples, np.float32), RATE), {})
    assert plan.is_embed == [False, *[True] * count, False]


def near(value: Any, expected: NDArray[np.float32]) -> bool:
    """Whether a tensor of bfloat16 holds what the installed torch computed, whose last bits depend on the processor."""
    shown = (np.frombuffer(value.content(), "<u2").astype(np.uint32) << 16).view(np.float32).reshape(value.shape)
    return value.dtype == "bfloat16" and bool(np.abs(shown - expected).max() < 0.02)


SECONDS = (0.01, 0.5, 3.01, 29.995, 30, 31, 65.3)


@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("bands", [80, 128])
def test_ultravox_is_exact(seconds: float, bands: int) -> None:
    """Its processor asks Whisper's extractor for the whole and cuts that into pieces of 30 seconds."""
    pytest.importorskip("torch")
    extractor = pytest.importorskip("transformers").WhisperFeatureExtractor(feature_size=bands)
    samples = tone(seconds)
    filled = np.pad(samples, (0, max(0, 2 * extractor.hop_length - len(samples))))
    options = {"padding": "longest", "pad_to_multiple_of": extractor.hop_length, "truncation": False}
    out = extractor(filled, sampling_rate=RATE, return_tensors="np", return_attention_mask=True, **options)
    whole, length = out.input_features[0], int(out.attention_mask.sum())
    lengths = [min(3000, length - start) for start in range(0, length, 3000)]
    pieces = [whole[:, start : start + 3000] for start in range(0, length, 3000)]
    widest = max(piece.shape[1] for piece in pieces)
    expected = np.stack([np.pad(piece, ((0, 0), (0, widest - piece.shape[1]))) for piece in pieces])

    config = {"model_type": "ultravox", "audio_token_index": 7, "audio_config": {"num_mel_bins": bands}}
    family = build(Facts(config, {}, {}, {}, {}, Words()))
    assert family is not None and "comes with the model" in family.gaps["audio"]
    assert family.target("audio") == [1000], "the unit is looked for as text"
    plan = family.plan("audio", Sound(samples, RATE), {})
    assert plan.replacement == [7] * sum(-(-piece // 16) for piece in lengths)
    fields = plan.fields()
    assert near(fields["audio_features"].value, expected)
    assert fields["audio_lens"].value == int64(lengths)
    assert fields["audio_token_len"].value == int32([-(-piece // 16) for piece in lengths])
    assert [name for name, field in fields.items() if field.keep_on_cpu] == list(plan.metadata)


@pytest.mark.parametrize("seconds", SECONDS[1:])
@pytest.mark.parametrize("kind", ["Qwen3ASRFeatureExtractor", "WhisperFeatureExtractor"])
def test_qwen3_asr_is_exact(seconds: float, kind: str) -> None:
    pytest.importorskip("torch")
    if (made := getattr(pytest.importorskip("transformers"), kind, None)) is None:
        pytest.skip("a transformers without the extractor")
    samples = tone(seconds)
    options = {"padding": True, "truncation": False, "return_attention_mask": True, "return_tensors": "np"}
    out = made(feature_size=128)(samples, sampling_rate=RATE, **options)
    mask = out.attention_mask[0]
    config = {"architectures": ["Qwen3ASRForConditionalGeneration"], "thinker_config": {"audio_token_id": 5}}
    family = build(Facts(config, {}, {}, {"feature_extractor_type": kind}, {}, Words()))
    assert family is not None
    plan = family.plan("audio", Sound(samples, RATE), {})
    fields = plan.fields()
    expected = np.ascontiguousarray(out.input_features[0][:, mask.astype(bool)])
    assert near(fields["input_audio_features"].value, expected)
    assert fields["feature_attention_mask"].value == tensor("int32", mask.astype(np.int32))
    assert fields["audio_feature_lengths"].value == int64(int(mask.sum()))


@pytest.mark.parametrize(("seconds", "count"), [(0.3, 7), (1, 13), (3.1, 41), (65.3, 849)])
def test_qwen3_asr_has_13_tokens_a_second(seconds: float, count: int) -> None:
    config = {"architectures": ["Qwen3ASRForConditionalGeneration"], "thinker_config": {"audio_token_id": 5}}
    family = build(Facts(config, {}, {}, {}, {}, Words()))
    assert family is not None
    assert family.plan("audio", Sound(tone(seconds), RATE), {}).replacement == [5] * count


@pytest.mark.parametrize("seconds", SECONDS[1:])
def test_qwen2_audio_is_exact(seconds: float) -> None:
    pytest.importorskip("torch")
    extractor = pytest.importorskip("transformers").WhisperFeatureExtractor(feature_size=128)
    samples = tone(seconds)
    out = extractor(samples, sampling_rate=RATE, return_tensors="np", return_attention_mask=True, padding="max_length")
    family = build(Facts({"model_type": "qwen2_audio"}, {}, {}, {}, {}, Words()))
    assert family is not None
    fields = family.plan("audio", Sound(samples, RATE), {}).fields()
    assert near(fields["input_features"].value, out.input_features[0])
    assert fields["feature_attention_mask"].value == tensor("int32", out.attention_mask[0])
