"""Options that image processors have when their configuration leaves them out."""

from __future__ import annotations

from typing import Any

CLIP_MEAN = [0.48145466, 0.4578275, 0.40821073]
CLIP_STD = [0.26862954, 0.26130258, 0.27577711]
HALF = [0.5, 0.5, 0.5]
BILINEAR, BICUBIC, LANCZOS = 2, 3, 1

COMMON: dict[str, Any] = {
    "do_resize": True,
    "do_rescale": True,
    "do_normalize": True,
    "do_center_crop": False,
    "do_pad": False,
    "rescale_factor": 1 / 255,
    "resample": BICUBIC,
    "image_mean": CLIP_MEAN,
    "image_std": CLIP_STD,
}
