"""Antialiased resizing of uint8 images, equal to torch's kernel to the last bit with and without torch.

torch computes it where it is installed and its fixed-point path is active (x86-64 with AVX2); elsewhere
`fixed_point` does the same arithmetic with numpy, 5 to 40 times slower. So it does for the first images of a process,
while torch, which takes more than a second to import, is loaded in the background.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from renderlayer.bundle.background import Background
from renderlayer.multimodal.image import fixed_point

Filter = Literal["bicubic", "bilinear", "lanczos"]
Image = NDArray[np.uint8]

_DELAY = 1.0  # seconds after the first image that torch starts to load, so that it does not hold up the first answer
_QUICK = 8_000_000  # pixels, before and after together, that numpy resizes before torch is there

# The numbers of preprocessor_config.json are Pillow's.
FILTERS: dict[int, Filter] = {1: "lanczos", 2: "bilinear", 3: "bicubic"}


def resize(image: Image, height: int, width: int, method: Filter) -> Image:
    """Resize.

    Args:
        image: (height, width, channels) uint8.
        height, width: the new size.

    Returns:
        (channels, height, width) uint8, contiguous.
    """
    if image.shape[:2] == (height, width):
        return np.ascontiguousarray(image.transpose(2, 0, 1))
    torch = _torch_for(image.shape[0] * image.shape[1] + height * width)
    if torch is None:
        return fixed_point.resize(image, height, width, method)
    batch = torch.from_numpy(image).permute(2, 0, 1).unsqueeze(0)
    resized = torch.nn.functional.interpolate(
        batch, size=(height, width), mode=method, antialias=True, align_corners=False
    )
    planes: Image = resized[0].contiguous().numpy()
    return planes


def _torch_for(pixels: int) -> Any:
    """torch, where it can be used now; None to do without it."""
    if find_spec("torch") is None:
        return None
    if _loading().ready or pixels > _QUICK:
        return _fixed_point_torch()
    return None


@lru_cache(maxsize=1)
def _loading() -> Background[Any]:
    return Background(_fixed_point_torch, _DELAY)


@lru_cache(maxsize=1)
def _fixed_point_torch() -> Any:
    """torch, when it resizes uint8 in fixed point on this processor."""
    import torch

    with warnings.catch_warnings():  # torch warns once of memory that is read-only, which decoded images are
        warnings.simplefilter("ignore")
        torch.from_numpy(np.frombuffer(b"\x00", np.uint8))
    return torch if torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512") else None
