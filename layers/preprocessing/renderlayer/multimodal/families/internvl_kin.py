"""Models that cut their images as InternVL does: Eagle 2.5, H2OVL, Nemotron Nano VL, NVLM, and those that differ by
their name only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plan
from renderlayer.multimodal.families.internvl import nearest
from renderlayer.multimodal.families.internvl_chat import Tiled
from renderlayer.multimodal.families.sizes import Size, check_tiles, tile_grids
from renderlayer.multimodal.image.picture import Picture

_MOST_TILES, _COVERED = 12, 0.6  # of Nemotron: tiles, and how much of an image a grid need cover at most
_FEWEST_AGAIN = 3  # tiles of H2OVL's second pass


class Eagle(Tiled):
    """Eagle 2.5, whose tiles may be larger than its tower's images."""

    def tile(self, config: Mapping[str, Any], tower: Mapping[str, Any]) -> int:
        return int(config.get("force_image_size") or super().tile(config, tower))


class NVLM(Tiled):
    """NVLM-D: each tile is named in the prompt."""

    marks = ("<Image>", "<|vision_pad|>", "</Image>")

    def target(self, modality: str) -> list[int]:
        return self.facts.lexicon.encode("<image>\n")

    def tokens(self, count: int) -> list[int]:
        names = [f"<tile_{number}>" for number in range(1, count)]
        if self.defaults["use_thumbnail"]:
            names.append("<tile_global_thumbnail>")
        begin, context, end = self.marks
        encode, out = self.facts.lexicon.encode, list[int]()
        for token in encode(begin + "".join(name + context for name in names) + end):
            out += [token] * (self.length if token == self.context else 1)
        return [*out, *encode("\n")]


class NemotronNano(Tiled):
    """Llama Nemotron Nano VL: the grid that covers the image and has its shape; pixels are not normalised."""

    marks = ("<img>", "<image>", "</img>")
    mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        given = {name: facts.image[name] for name in ("use_thumbnail",) if name in facts.image}
        most = int(facts.image.get("max_num_tiles") or _MOST_TILES)
        self.defaults = {"use_thumbnail": True, **given, "min_dynamic_patch": 1, "max_dynamic_patch": most}
        self.defaults["dynamic_image_size"] = True

    def tile(self, config: Mapping[str, Any], tower: Mapping[str, Any]) -> int:
        return int(self.facts.image.get("image_size") or super().tile(config, tower))

    def chosen(self, kwargs: Mapping[str, Any]) -> Options:
        """Those of the configuration; requests have none."""
        if any(name in kwargs for name in (*self.defaults, "max_num_tiles", "image_size")):
            raise BadRequest("Tiles cannot be changed by request.", "mm_processor_kwargs")
        return dict(self.defaults)

    def shape(self, size: Size, grids: Sequence[tuple[int, int]]) -> Size:
        height, width = size
        best, most = (1, 1), float("-inf")
        for across, down in grids:
            wanted, shown = across / down, width / height
            covered = min(across * down * self.edge**2 / (width * height), _COVERED)
            if (fit := covered * min(wanted / shown, shown / wanted)) > most:
                best, most = (down, across), fit
        return best


class H2OVL(Tiled):
    """H2OVL-Mississippi: a lone image is cut twice, into tiles of different shapes."""

    taken = (*Tiled.taken, "use_msac")

    def __init__(self, facts: Facts, lone: bool = True) -> None:
        super().__init__(facts)
        self.lone = lone
        self.defaults.setdefault("use_msac", False)

    def for_item_count(self, count: int) -> H2OVL:
        return self if self.lone == (count == 1) else H2OVL(self.facts, count == 1)

    def hash_context(self, modality: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {"use_msac": self.lone and self.chosen(kwargs)["use_msac"]}

    def chosen(self, kwargs: Mapping[str, Any]) -> Options:
        chosen = super().chosen(kwargs)
        if not isinstance(chosen["use_msac"], bool):
            raise BadRequest("use_msac is true or false.", "mm_processor_kwargs")
        return chosen

    def plan_image(self, picture: Picture, chosen: Options) -> Plan:
        if not (self.lone and chosen["use_msac"]):
            return super().plan_image(picture, chosen)
        width, height = picture.size
        most = check_tiles(int(chosen["max_dynamic_patch"])) if chosen["dynamic_image_size"] else 1
        first = nearest((height, width), self.edge**2, tile_grids(1, most))
        again = [
            (across, down) for across, down in tile_grids(_FEWEST_AGAIN, most) if first[1] % across and first[0] % down
        ]
        second = nearest((height, width), self.edge**2, again)
        counts = [_with_whole(shape) for shape in (first, second)]

        def pixels() -> Any:
            return self.cut(picture, (second, first))

        return self.laid_out(sum(counts) - 1, pixels)


def _with_whole(shape: Size) -> int:
    """Tiles of the grid, and the whole where there are several."""
    count = shape[0] * shape[1]
    return count + (count > 1)
