"""The engine's client: what an engine answers while it is being stopped."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from renderlayer.errors import BadGateway
from renderlayer.pipeline.engine import Engine
from tests.derender.engine import choice, response

ABORTED = response(choice([1, 2], finish_reason="abort"))


def engine(answer: dict[str, Any], **options: Any) -> Engine:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    return Engine("http://engine", transport=transport, **options)


def test_answers_that_a_stop_cut_off_are_passed_on_or_refused() -> None:
    assert engine(ABORTED).generate({}) == ABORTED
    with pytest.raises(BadGateway, match="stopped"):
        engine(ABORTED, refuse_aborted=True).generate({})
    whole = response(choice([1, 2], finish_reason="stop"))
    assert engine(whole, refuse_aborted=True).generate({}) == whole
