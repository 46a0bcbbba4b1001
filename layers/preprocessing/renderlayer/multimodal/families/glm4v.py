"""GLM-4.1V, 4.5V, 4.6V and GLM-OCR: patches as in the Qwen-VL line, other bounds and tokens; videos as timed images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options
from renderlayer.multimodal.families.qwen_video import Qwen2VL
from renderlayer.multimodal.families.sizes import Size, pixel_range, raised, snapped
from renderlayer.multimodal.video import sampling
from renderlayer.multimodal.video.sampling import Source

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_SIZE = {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 15000}
_VIDEO_SIZE = {"shortest_edge": 112 * 112, "longest_edge": 28 * 28 * 2 * 30000}


class Glm4v(Qwen2VL):
    """Images and videos of GLM's vision models.

    Of which kind its videos are, the processor says and not the architecture: 4.6V and GLM-OCR look closer, and write
    times with their unit.
    """

    item_limits: Mapping[str, int] = {"video": 1}
    timed = ("video",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image_pad = facts.token("<|image|>", "image_token_id")
        # Frames of videos are tokens of images, too.
        self.video_pad = self.image_pad
        self.video = facts.token("<|video|>", "video_token_id")
        self.begin, self.end = facts.token("<|begin_of_image|>"), facts.token("<|end_of_image|>")
        self.begin_video, self.end_video = facts.token("<|begin_of_video|>"), facts.token("<|end_of_video|>")
        named = (facts.video.get("video_processor_type"), facts.image.get("processor_class"))
        self.closer = any("46V" in str(name) for name in named)
        self.video_backend = "opencv" if self.closer else "opencv_dynamic"

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<|begin_of_{modality}|><|{modality}|><|end_of_{modality}|>"

    def target(self, modality: str) -> list[int]:
        return [self.begin_video, self.video, self.end_video] if modality == "video" else [self.image_pad]

    def snap(self, size: Size, factor: int, chosen: Options) -> Size:
        # An image counts as one group of frames, so that the bounds are for the group.
        temporal = int(chosen.get("temporal_patch_size", 2))
        return snapped(raised(size, factor), factor, *pixel_range(chosen, _SIZE), frames=temporal, temporal=temporal)

    def snap_video(self, size: Size, frames: int, temporal: int, factor: int, chosen: Options) -> Size:
        if frames < temporal:
            raise BadRequest(f"t:{frames} must be larger than temporal_factor:{temporal}")
        bounds = pixel_range(chosen, _VIDEO_SIZE)
        return snapped(raised(size, factor), factor, *bounds, frames=frames, temporal=temporal)

    def sample(self, source: Source, chosen: Mapping[str, Any]) -> list[int]:
        if self.closer:
            return sampling.by_length(source, int(chosen.get("temporal_patch_size", 2)))
        most = chosen.get("max_duration", self.facts.video.get("max_duration", sampling.LONGEST))
        return sampling.by_seconds(source, chosen.get("fps", sampling.FPS), most)

    def chosen_frames(self, clip: Clip, given: Options) -> Clip:
        """The choice of the processor, once more, where all frames of the source were loaded; an even number."""
        if not clip.metadata["do_sample_frames"]:
            return clip
        if given.get("fps") or given.get("num_frames"):
            raise BadRequest("A video whose frames are all seen is not sampled by request.", "mm_processor_kwargs")
        options = {key: self.facts.video[key] for key in ("fps", "temporal_patch_size") if key in self.facts.video}
        picked = self.sample(clip.source, options) or [0]
        return clip.picked([*picked, *picked[len(picked) - len(picked) % 2 :]])

    def video_tokens(self, clip: Clip, groups: int, length: int, temporal: int) -> list[int]:
        tokens = [self.begin_video]
        form = "{:.1f} seconds" if self.closer else "{}"
        for second in seconds(clip):
            tokens += [self.begin, *[self.image_pad] * length, self.end]
            tokens += self.facts.lexicon.encode(form.format(second))
        return [*tokens, self.end_video]


def seconds(clip: Clip) -> list[int]:
    """For each pair of frames the full second of its first one."""
    return [int(index / clip.source.fps) for index in list(dict.fromkeys(clip.indices))[::2]]
