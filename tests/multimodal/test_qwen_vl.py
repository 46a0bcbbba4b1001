"""The arithmetic of the Qwen-VL layout."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.sizes import snapped

LEAST, MOST, FACTOR = 65_536, 16_777_216, 32


@pytest.mark.parametrize(
    ("size", "tokens"),
    [((300, 200), 70), ((720, 1280), 880), ((64, 96), 70), ((1080, 1920), 2040), ((4000, 3000), 11_750)],
)
def test_published_counts(size: tuple[int, int], tokens: int) -> None:
    """200 × 300 is 70 tokens and 1280 × 720 is 880 in published examples of Qwen3-VL."""
    height, width = snapped(size, FACTOR, LEAST, MOST)
    assert height * width // FACTOR**2 == tokens


@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_laws(height: int, width: int) -> None:
    """Multiples of the factor, within the bounds, the shape kept as far as whole patches allow."""
    if max(height, width) / min(height, width) > 200:
        with pytest.raises(BadRequest):
            snapped((height, width), FACTOR, LEAST, MOST)
        return
    new_height, new_width = snapped((height, width), FACTOR, LEAST, MOST)
    assert new_height % FACTOR == new_width % FACTOR == 0
    assert new_height > 0 and new_width > 0
    assert new_height * new_width >= LEAST
    assert new_height * new_width <= MOST or min(new_height, new_width) == FACTOR
    if max(new_height, new_width) / min(new_height, new_width) <= 200:
        assert (new_height, new_width) == snapped((new_height, new_width), FACTOR, LEAST, MOST)
