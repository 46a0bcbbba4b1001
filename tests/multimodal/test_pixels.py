"""The kernel with and without torch, patch rows, and normalisation."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from renderlayer.multimodal.arrays import bfloat16, patch_rows, tensor
from renderlayer.multimodal.image import fixed_point
from renderlayer.multimodal.image.antialias import resize_antialiased
from renderlayer.multimodal.image.processing import Recipe, centred, finished, padded, tiles
from renderlayer.multimodal.image.resize import Filter, resize


def noise(height: int, width: int, seed: int = 0, extreme: bool = False) -> NDArray[np.uint8]:
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return np.where(image > 127, 255, 0).astype(np.uint8) if extreme else image


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(*[st.integers(1, 90)] * 4),
    st.sampled_from(["bicubic", "bilinear", "lanczos"]),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_numpy_equals_torch(sizes: tuple[int, int, int, int], method: Filter, seed: int, extreme: bool) -> None:
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("torch resizes in floating point on this processor")
    height, width, new_height, new_width = sizes
    image = noise(height, width, seed, extreme)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(image).permute(2, 0, 1).unsqueeze(0),
        size=(new_height, new_width),
        mode=method,
        antialias=True,
        align_corners=False,
    )[0].numpy()
    assert np.array_equal(fixed_point.resize(image, new_height, new_width, method), expected)
    assert np.array_equal(resize(image, new_height, new_width, method), expected)


def test_wide_images_go_in_strips() -> None:
    """Larger than what a pass widens at a time."""
    image = noise(1500, 3100)
    whole = fixed_point.resize(image, 700, 900, "bicubic")
    part = fixed_point.resize(np.ascontiguousarray(image[:, :, :1]), 700, 900, "bicubic")
    assert np.array_equal(whole[:1], part)


def test_flat_images_stay_flat() -> None:
    for value in (0, 1, 127, 254, 255):
        image = np.full((37, 53, 3), value, np.uint8)
        assert (fixed_point.resize(image, 91, 20, "bicubic") == value).all()


def test_patch_rows_hold_the_pixels() -> None:
    """Row and column of a patch row are those of the documented order."""
    patch, merge, temporal = 4, 2, 2
    planes = np.ascontiguousarray(noise(16, 24).transpose(2, 0, 1))
    made = patch_rows([planes], patch, merge, temporal)
    rows = np.frombuffer(made.content(), np.uint8).reshape(made.shape)
    assert rows.shape == (4 * 6, 3 * temporal * patch * patch)
    index = 0
    for down in range(2):
        for across in range(3):
            for y in range(merge):
                for x in range(merge):
                    top, left = (down * merge + y) * patch, (across * merge + x) * patch
                    square = planes[:, top : top + patch, left : left + patch]
                    expected = np.repeat(square[:, None], temporal, axis=1).reshape(-1)
                    assert np.array_equal(rows[index], expected)
                    index += 1


def test_frames_fill_groups() -> None:
    frames = [np.full((3, 8, 8), value, np.uint8) for value in (1, 2, 3)]
    rows = np.frombuffer(patch_rows(frames, 4, 2, 2).content(), np.uint8).reshape(2, 4, 3, 2, 4, 4)
    assert rows[0, :, :, 0].max() == 1 and rows[0, :, :, 1].min() == 2
    assert rows[1].min() == rows[1].max() == 3


def recipe(**changes: Any) -> Recipe:
    chosen = {
        "resample": 3,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_std": [0.26862954, 0.26130258, 0.27577711],
        **changes,
    }
    return Recipe.of(chosen)


def test_normalisation_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    planes = np.ascontiguousarray(noise(32, 32).transpose(2, 0, 1))
    made = recipe()
    mean = (torch.tensor(made.mean) * 255.0).view(3, 1, 1)
    std = (torch.tensor(made.std) * 255.0).view(3, 1, 1)
    expected = torch.from_numpy(planes).to(torch.float32).sub(mean).div(std).to(torch.bfloat16)
    assert finished(planes, made).content() == expected.view(torch.uint16).numpy().data.cast("B")


def test_steps_may_be_left_out() -> None:
    planes = np.full((3, 1, 1), 51, np.uint8)

    def values(**changes: Any) -> list[float]:
        raw = np.frombuffer(finished(planes, recipe(**changes)).content(), np.uint16).astype(np.uint32) << 16
        return raw.view(np.float32).tolist()

    assert values(do_normalize=False) == pytest.approx([0.2] * 3, rel=0.01)
    assert values(do_rescale=False, do_normalize=False) == [51.0] * 3
    assert values(image_mean=[0.2] * 3, image_std=[0.5] * 3) == pytest.approx([0.0] * 3, abs=0.01)
    assert values(do_rescale=False, image_mean=[1.0] * 3, image_std=[2.0] * 3) == [25.0] * 3


def test_crops_and_canvases() -> None:
    planes = np.arange(3 * 4 * 6, dtype=np.uint8).reshape(3, 4, 6)
    assert np.array_equal(centred(planes, (2, 2)), planes[:, 1:3, 2:4])
    wide = centred(planes, (6, 6))
    assert np.array_equal(wide[:, 1:5], planes) and not wide[:, 0].any() and not wide[:, 5].any()
    canvas = padded(planes, (1, 0), (5, 7), fill=(1, 2, 3))
    assert np.array_equal(canvas[:, 1:, :6], planes)
    assert canvas[:, 0, 0].tolist() == [1, 2, 3]
    assert np.array_equal(tiles(planes, (2, 3))[3], planes[:, 2:, 3:])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=8))
def test_bfloat16_rounds_to_even(values: list[float]) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.tensor(values, dtype=torch.float32).to(torch.bfloat16).view(torch.uint16).numpy()
    assert np.array_equal(bfloat16(np.array(values, np.float32)), expected)


def test_tensors_take_the_memory_as_it_is() -> None:
    array = np.arange(6, dtype=np.uint16).reshape(2, 3)
    made = tensor("bfloat16", array)
    assert (made.dtype, made.shape, bytes(made.content())) == ("bfloat16", (2, 3), array.tobytes())
    assert bytes(tensor("uint8", np.empty((0, 4), np.uint8)).content()) == b""


def test_the_first_images_do_not_wait_for_torch() -> None:
    """A process that has just started resizes with numpy; a large image is worth the import."""
    pytest.importorskip("torch")
    program = """
import sys
import numpy as np
from renderlayer.multimodal.image.resize import resize
small = resize(np.zeros((40, 60, 3), np.uint8), 20, 30, "bicubic")
assert "torch" not in sys.modules
large = resize(np.zeros((3000, 2700, 3), np.uint8), 20, 30, "bicubic")
assert "torch" in sys.modules and (small == large).all()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[st.integers(2, 300)] * 4), st.integers(0, 2**32 - 1))
def test_floating_point_equals_torch(sizes: tuple[int, int, int, int], seed: int) -> None:
    """Of up to hundreds of taps, which torch sums in groups of four.

    Planes of a single column are left out: torch takes them for channels and does not interpolate at all.
    """
    torch = pytest.importorskip("torch")
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("torch sums otherwise on this processor")
    height, width, *size = sizes
    planes = np.random.default_rng(seed).normal(size=(2, height, width)).astype(np.float32)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(planes)[None], size=tuple(size), mode="bilinear", antialias=True, align_corners=False
    )
    assert np.array_equal(resize_antialiased(planes, (size[0], size[1])), expected[0].numpy())
