"""Models without a family of their own."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from renderlayer.errors import NotImplementedHere
from renderlayer.multimodal.families import build
from renderlayer.multimodal.families.base import Facts
from renderlayer.multimodal.image.picture import ImageIO, open_picture
from tests.multimodal.images import encoded, picture
from tests.multimodal.processed import Words

SIGLIP = {"image_processor_type": "SiglipImageProcessor", "size": {"height": 56, "width": 56}}
QWEN = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 14, "merge_size": 2}


def general(image: dict[str, Any], config: dict[str, Any] | None = None, **processor: Any) -> Any:
    config = {"model_type": "unheard-of", "image_token_id": 9, **(config or {})}
    return build(Facts(config, image, {}, {}, processor, Words()))


@pytest.fixture(autouse=True)
def transformers() -> None:
    pytest.importorskip("transformers")


def test_a_fixed_length() -> None:
    family = general(SIGLIP, image_seq_length=16)
    assert set(family.gaps) == {"image"}
    plan = family.plan("image", open_picture(encoded(picture(80, 60)), ImageIO()), {})
    assert plan.replacement == [9] * 16
    value = plan.fields()["pixel_values"].value
    assert (value.dtype, value.shape) == ("bfloat16", (3, 56, 56))


def test_a_grid() -> None:
    plan = general(QWEN).plan("image", open_picture(encoded(picture(280, 140)), ImageIO()), {})
    assert len(plan.replacement) == 10 * 20 // 4
    assert list(plan.metadata) == ["image_grid_thw"]
    assert plan.fields()["pixel_values"].kind == "flat"


def test_what_cannot_be_told_is_said() -> None:
    with pytest.raises(NotImplementedHere, match="number of tokens"):
        general(SIGLIP).plan("image", open_picture(encoded(picture(80, 60)), ImageIO()), {})


def test_text_models_have_no_general_family() -> None:
    assert general({}) is None
    assert build(Facts({"model_type": "x"}, SIGLIP, {}, {}, {}, Words())) is None


def test_a_processor_that_cannot_be_had_is_no_fault_of_the_server() -> None:
    """Its package is missing, or transformers does not know it."""
    with pytest.raises(NotImplementedHere, match="no image processor"):
        general({"image_processor_type": "UnheardImageProcessor"}).plan(
            "image", open_picture(encoded(picture(80, 60)), ImageIO()), {}
        )
    with pytest.MonkeyPatch.context() as patch, pytest.raises(NotImplementedHere, match="transformers"):
        patch.setitem(sys.modules, "transformers", None)
        general(SIGLIP).plan("image", open_picture(encoded(picture(80, 60)), ImageIO()), {})
