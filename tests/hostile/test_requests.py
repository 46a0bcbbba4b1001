"""Bodies and states made to cost more than they weigh: time grows with the size, memory stays below what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from renderlayer.served_model import ServedModel
from tests.hostile import shapes
from tests.hostile.requests import costs
from tests.hostile.shapes import Shape

pytestmark = pytest.mark.long
SIZES = (1 << 17, 1 << 21)
BESIDE = 32 << 20
"""Bytes that a request may take whatever its size, what the test's client makes of it included."""
SOME = 0.5
"""Seconds of processor time that a body may take whatever its size, on a machine that is busy with other things."""
ROUTES: Mapping[str, Mapping[str, Shape]] = {
    "/v1/chat/completions/render": shapes.CHATS,
    "/v1/completions/render": shapes.TEXTS,
    "/tokenize": shapes.TEXTS,
    "/detokenize": shapes.TOKENS,
    "/v1/chat/completions/derender": shapes.ANSWERS,
    "/v1/responses/derender": shapes.ANSWERS,
}


@pytest.mark.parametrize("path", ROUTES)
def test_cost_grows_with_the_size(server: ServedModel, path: str) -> None:
    for kind, found in costs(Path(server.settings.model), path, list(ROUTES[path]), SIZES).items():
        assert {cost.status for cost in found} <= {200, 400, 404, 413}, (kind, found)
        first, last = found[0], found[-1]
        # sixteen times the size takes sixteen times as long; if it were quadratic, 256 times
        assert last.seconds < 64 * first.seconds + SOME, (kind, found)
        assert all(cost.memory < 1.2 * cost.weighed + 3 * cost.size + BESIDE for cost in found), (kind, found)
