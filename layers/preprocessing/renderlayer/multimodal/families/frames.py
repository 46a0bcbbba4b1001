"""Videos whose frames become pictures of one size each, for families that look at them one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.sizes import processable, square, target
from renderlayer.multimodal.tensor import Tensor

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip


def frame_stack(clip: Clip, chosen: Mapping[str, Any]) -> Tensor:
    """bfloat16 of shape (frames, 3, height, width): resized, cut to `crop_size` where asked for, normalised.

    Raises:
        BadRequest: the frames' shape is too extreme.
    """
    import numpy as np

    from renderlayer.multimodal.image import processing

    options = {**COMMON, **chosen}
    recipe = processing.Recipe.of(options)
    size = processable(target((clip.size[1], clip.size[0]), options["size"]))
    frames = []
    for frame in clip.frames():
        planes = processing.scaled(frame, size, recipe)
        frames.append(processing.centred(planes, square(options["crop_size"])) if options["do_center_crop"] else planes)
    return processing.finished(np.stack(frames), recipe)
