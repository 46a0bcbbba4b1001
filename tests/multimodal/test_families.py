"""Every family against Hugging Face's processor, to the last bit; and the tokens that stand for an image."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import PIL
import pytest

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families import BY_TYPE, FAMILIES, build, taken
from renderlayer.multimodal.families.architectures import TAKEN
from renderlayer.multimodal.families.base import Facts
from renderlayer.multimodal.image.picture import Picture
from tests.multimodal.processed import (
    CASES,
    CLIP,
    DIGESTS,
    SIGLIP,
    Words,
    family_of,
    of_all_kinds,
    ours,
    pictures,
    strips,
    theirs,
    together,
)

ROOT = Path(__file__).parents[2]
PICTURES = dict(pictures())
RECORDED: dict[str, Any] = json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_equal_to_what_the_processor_gave(name: str) -> None:
    for shown, picture in PICTURES.items():
        assert ours(CASES[name], picture) == RECORDED[name][shown], shown


@pytest.mark.long
@pytest.mark.skipif(RECORDED["pillow"] != PIL.__version__, reason="the files are those of another Pillow")
@pytest.mark.parametrize("name", CASES)
def test_equal_for_images_of_all_kinds(name: str) -> None:
    assert together(lambda picture: ours(CASES[name], picture)) == RECORDED[name]["kinds"]


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_strips_are_equal_or_refused(name: str) -> None:
    """Refused where the processor fails; an image of one pixel by 65,000 never takes much time or memory."""
    assert strips(lambda picture: ours(CASES[name], picture)) == RECORDED[name]["strips"]
    for _, picture in pictures(((65_000, 1), (1, 65_000))):
        try:
            plan = family_of(CASES[name]).plan("image", picture, {})
        except BadRequest:
            continue
        sizes = [math.prod(field.value.shape) for field in plan.fields().values()]
        assert max(sizes) < 100_000_000


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_processor_that_is_installed(name: str) -> None:
    pytest.importorskip("torchvision", reason="transformers' image processors need torchvision")
    pytest.importorskip(
        CASES[name].processor[0].partition(".")[0] if "." in CASES[name].processor[0] else "transformers"
    )
    process = theirs(CASES[name])
    for picture in (*PICTURES.values(), *of_all_kinds()):
        assert ours(CASES[name], picture) == process(picture), picture.size


@pytest.mark.parametrize("name", CASES)
def test_one_target_and_known_placeholders(name: str) -> None:
    family = family_of(CASES[name])
    assert family.target("image")
    assert family.placeholder("image", 1)
    assert family.join(1, 2) is None or name.startswith("gemma3")


@pytest.mark.parametrize("name", CASES)
def test_masks_fit_their_replacement(name: str) -> None:
    for picture in PICTURES.values():
        plan = family_of(CASES[name]).plan("image", picture, {})
        if plan.is_embed is not None:
            assert len(plan.is_embed) == len(plan.replacement)
            assert any(plan.is_embed) and not all(plan.is_embed)


TOKENS: list[tuple[str, dict[str, Any], dict[str, int]]] = [
    # 24² patches of CLIP without its class token
    ("llava", {"vision_config": CLIP}, {"500x333": 576}),
    ("llava", {"vision_config": CLIP, "vision_feature_select_strategy": "full"}, {"500x333": 577}),
    ("llava", {"vision_config": SIGLIP, "vision_feature_select_strategy": "full"}, {"500x333": 729}),
    # the square, and of the 24 × 48 features of two tiles the 36 columns that show the image, with a newline a row
    ("llava_next", {"vision_config": CLIP}, {"500x333": 576 + 24 * 37}),
    # the square, and of the 27 × 54 features of two tiles 40 columns; all of 54 × 54 for a square image
    (
        "llava_onevision",
        {"vision_config": SIGLIP, "vision_feature_select_strategy": "full"},
        {"500x333": 729 + 27 * 41, "448x448": 729 + 54 * 55},
    ),
    # 18 × 12 steps of 28 pixels, a token a row
    ("mistral3", {"vision_config": {"patch_size": 14}, "spatial_merge_size": 2}, {"500x333": 12 * 19}),
    # start, end, and 256 for each of 3 × 2 tiles and the thumbnail
    ("internvl", {}, {"500x333": 2 + 256 * 7, "448x448": 2 + 256}),
    ("gemma3", {}, {"500x333": 260}),
    # two rows of two tiles with a separator behind each, then the whole; begin, image and end around them
    ("llama4", {"vision_config": {"patch_size": 14, "pixel_shuffle_ratio": 0.5}}, {"448x448": 2 * 2 * 145 + 144 + 3}),
]


@pytest.mark.parametrize(("model_type", "config", "counts"), TOKENS)
def test_tokens(model_type: str, config: dict[str, Any], counts: dict[str, int]) -> None:
    family = build(Facts({"model_type": model_type, **config}, {}, {}, {}, {}, Words()))
    assert family is not None
    found = {shown: len(family.plan("image", PICTURES[shown], {}).replacement) for shown in counts}
    assert found == counts


def test_rows_end_in_the_mistral_prompt() -> None:
    family: Any = family_of(CASES["mistral3"])
    plan = family.plan("image", PICTURES["37x41"], {})
    image, row_end, end = family.target("image")[0], family.row_end, family.end
    assert plan.replacement == [image, image, row_end, image, image, end]
    assert plan.is_embed == [True, True, False, True, True, False]


def test_idefics_says_row_and_column() -> None:
    family: Any = family_of(CASES["idefics3"])
    plan = family.plan("image", PICTURES["120x1100"], {})
    encode = family.facts.lexicon.encode
    fake, line, blank = encode("<fake_token_around_image>"), encode("\n"), encode("\n\n")
    square = [family.image] * 169
    expected: list[int] = []
    for row in range(1, 5):
        expected += [*fake, *encode(f"<row_{row}_col_1>"), *square, *(line if row < 4 else blank)]
    assert plan.replacement == [*expected, *fake, *encode("<global-img>"), *square, *fake]


def test_unknown_models_have_no_family() -> None:
    assert build(Facts({"model_type": "qwen3"}, {}, {}, {}, {}, Words())) is None


def test_strips_are_refused_where_the_processor_refuses(strip: Picture) -> None:
    for name in ("qwen2_vl", "glm4v"):
        with pytest.raises(BadRequest, match="aspect ratio"):
            family_of(CASES[name]).plan("image", strip, {})


@pytest.fixture
def strip() -> Picture:
    from renderlayer.multimodal.image.picture import ImageIO, open_picture
    from tests.multimodal.images import encoded, picture

    return open_picture(encoded(picture(9000, 40)), ImageIO())


def test_dispatch_is_by_architecture() -> None:
    """A model type that several architectures share does not choose; without an architecture nothing is exact."""
    for model_type, architecture in BY_TYPE.items():
        config = {"model_type": model_type, "vision_config": CLIP, "candidate_resolutions": [[384, 384]]}
        by_type, by_name = (
            build(Facts({**config, **named}, {}, {}, {}, {}, Words()))
            for named in ({}, {"architectures": [architecture]})
        )
        assert by_type is not None and by_name is not None
        assert type(by_type) is type(by_name)
        assert set(by_type.gaps) == set(by_type.modalities)
    other = {"model_type": "mistral3", "architectures": ["MolmoForCausalLM"], "image_token_id": 3}
    facts = Facts(other, {"image_processor_type": "PixtralImageProcessor"}, {}, {}, {}, Words())
    assert build(facts) is None and taken(facts) == ("image",)


def test_unheard_of_models_show_what_they_take() -> None:
    config = {"architectures": ["Unheard"], "vision_config": {"depth": 1}, "audio_token_id": 4}
    assert taken(Facts(config, {}, {}, {}, {}, Words())) == ("image", "audio")
    assert taken(Facts({"architectures": ["LlamaForCausalLM"]}, {}, {}, {}, {}, Words())) == ()


def test_every_family_takes_no_more_than_its_architecture() -> None:
    for architecture in FAMILIES.keys() & TAKEN.keys():
        config = {
            "architectures": [architecture],
            "vision_config": CLIP,
            "text_config": {"model_type": "qwen2"},
            "candidate_resolutions": [[384, 384]],
        }
        family = build(Facts(config, {}, {}, {}, {}, Words()))
        assert family is not None and set(family.modalities) <= set(TAKEN[architecture])


def test_a_family_costs_nothing_to_others() -> None:
    """Knowing all of them imports none; opening one imports what it is made of, and no array or imaging library."""
    code = """
import json, sys
from renderlayer.multimodal.families import FAMILIES, build
from renderlayer.multimodal.families.base import Facts
from tests.multimodal.processed import Words

def loaded():
    return [name.rpartition(".")[2] for name in sys.modules if name.startswith("renderlayer.multimodal.families.")]

shared = loaded()
build(Facts({"architectures": ["Qwen3VLForConditionalGeneration"]}, {}, {}, {}, {}, Words()))
print(json.dumps([shared, loaded(), [name for name in ("av", "numpy", "torch") if name in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    shared, loaded, libraries = json.loads(done.stdout)
    assert set(shared) == {"architectures", "base"}
    assert set(loaded) - set(shared) == {"qwen_video", "qwen_vl", "defaults", "sizes"}
    assert not libraries
