"""Videos of the Qwen-VL line: frames in pairs on one grid (wire.md 4.5, 4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plan, options
from renderlayer.multimodal.families.qwen_vl import QwenVL
from renderlayer.multimodal.families.sizes import Size, pixel_range, raised, snapped
from renderlayer.multimodal.tensor import Field, Fields, bfloat16, int64
from renderlayer.multimodal.video import sampling
from renderlayer.multimodal.video.sampling import Source

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_SIZE = {"shortest_edge": 128 * 28 * 28, "longest_edge": 28 * 28 * 768}


class Qwen2VL(QwenVL):
    """Qwen2-VL: a run of pads a video."""

    modalities: tuple[str, ...] = ("image", "video")

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.video_pad = facts.token("<|video_pad|>", "video_token_id")

    def target(self, modality: str) -> list[int]:
        return [self.video_pad] if modality == "video" else super().target(modality)

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        if modality == "image":
            return super().plan(modality, media, kwargs)
        given = options({}, kwargs, "videos_kwargs")
        return self.plan_video(self.chosen_frames(media, given), {**self.facts.video, **given})

    def chosen_frames(self, clip: Clip, given: Options) -> Clip:
        """The frames that the processor keeps of the loaded ones; `given` are the options of request and server."""
        return clip

    def plan_video(self, clip: Clip, chosen: Options) -> Plan:
        """Lay out one video: a token for each square of merge² patches of a pair of frames."""
        patch, merge = int(chosen.get("patch_size", 14)), int(chosen.get("merge_size", 2))
        temporal = int(chosen.get("temporal_patch_size", 2))
        width, height = clip.size
        height, width = self.snap_video((height, width), len(clip.indices), temporal, patch * merge, chosen)
        groups = -(-len(clip.indices) // temporal)
        grid = (groups, height // patch, width // patch)
        metadata = {
            "video_grid_thw": Field(int64(grid), "batched", keep_on_cpu=True),
            **self.time_fields(clip, temporal, chosen),
        }

        def fields() -> Fields:
            from renderlayer.multimodal.arrays import patch_rows

            rows = patch_rows(self.frames(clip.frames(), (height, width), chosen), patch, merge, temporal)
            return {
                "pixel_values_videos": Field(rows, "flat"),
                **metadata,
            }

        replacement = self.video_tokens(clip, groups, grid[1] * grid[2] // merge**2, temporal)
        mask = [token == self.video_pad for token in replacement]
        timed = "video" in self.timed
        return Plan(replacement, metadata, fields, mask if timed else None, narrow=not timed)

    def snap_video(self, size: Size, frames: int, temporal: int, factor: int, chosen: Options) -> Size:
        """The size at which frames are cut into patches."""
        return snapped(size, factor, *pixel_range(chosen, _SIZE))

    def time_fields(self, clip: Clip, temporal: int, chosen: Options) -> Fields:
        """What the engine learns of the video's time."""
        return {}

    def video_tokens(self, clip: Clip, groups: int, length: int, temporal: int) -> list[int]:
        """The tokens that take the place of the target."""
        return [self.video_pad] * (groups * length)

    def sample(self, source: Source, chosen: Mapping[str, Any]) -> list[int]:
        return sampling.by_rate_in_pairs(source, chosen)


class Qwen25VL(Qwen2VL):
    """Qwen2.5-VL: also says how many seconds a pair of frames spans."""

    def time_fields(self, clip: Clip, temporal: int, chosen: Options) -> Fields:
        rate = len(clip.indices) / clip.source.frames * clip.source.fps if clip.source.fps else 24.0
        return {"second_per_grid_ts": Field(bfloat16(temporal / rate), "batched", keep_on_cpu=True)}


class Qwen3VL(Qwen2VL):
    """Qwen3-VL and Qwen3.5: each pair of frames stands behind its time, written out in the prompt.

    The template's own marks around the video stay, as with the reference's processors (transformers 5.10 and later).
    """

    timed = ("video",)

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.begin = facts.token("<|vision_start|>", "vision_start_token_id")
        self.end = facts.token("<|vision_end|>", "vision_end_token_id")

    def chosen_frames(self, clip: Clip, given: Options) -> Clip:
        """As `do_sample_frames` asks, which is on where all frames of the source were loaded."""
        if not given.get("do_sample_frames", clip.metadata["do_sample_frames"]):
            return clip
        total, count, fps = clip.source.frames, given.get("num_frames"), given.get("fps")
        if count is not None and fps is not None:
            raise BadRequest("num_frames and fps exclude each other.", "mm_processor_kwargs")
        if count is None:
            rate = clip.source.fps or 24.0
            count = int(total / rate * (fps or self.facts.video.get("fps") or sampling.FPS))
        least, most = (
            self.facts.video.get("min_frames", sampling.LEAST),
            self.facts.video.get("max_frames", sampling.MOST),
        )
        within = min(max(count, least), most, total)
        if given.get("num_frames", within) != within:
            raise BadRequest(f"The video has no {count} frames to sample.", "mm_processor_kwargs")
        return clip.picked(sampling.spread(total, within))

    def snap_video(self, size: Size, frames: int, temporal: int, factor: int, chosen: Options) -> Size:
        if frames < temporal:
            raise BadRequest(f"t:{frames} must be larger than temporal_factor:{temporal}")
        bounds = pixel_range(chosen, {"shortest_edge": 128 * 32 * 32, "longest_edge": 32 * 32 * 768})
        return snapped(raised(size, factor), factor, *bounds, frames=frames, temporal=temporal)

    def time_fields(self, clip: Clip, temporal: int, chosen: Options) -> Fields:
        return {"timestamps": Field(timestamps(clip, temporal), "batched", keep_on_cpu=True)}

    def video_tokens(self, clip: Clip, groups: int, length: int, temporal: int) -> list[int]:
        tokens: list[int] = []
        for second in timestamps(clip, temporal):
            tokens += self.facts.lexicon.encode(f"<{second:.1f} seconds>")
            tokens += [self.begin, *[self.video_pad] * length, self.end]
        return tokens

    def sample(self, source: Source, chosen: Mapping[str, Any]) -> list[int]:
        return sampling.by_rate(source, chosen)


def timestamps(clip: Clip, temporal: int) -> list[float]:
    """For each group of frames the middle between its first and its last, in seconds."""
    indices = [*clip.indices, *[clip.indices[-1]] * (-len(clip.indices) % temporal)]
    rate = clip.source.fps or 24.0
    seconds = [index / rate for index in indices]
    return [(seconds[at] + seconds[at + temporal - 1]) / 2 for at in range(0, len(seconds), temporal)]
