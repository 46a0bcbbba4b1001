"""A body that is null is one that is missing (wire.md 1.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from renderlayer.errors import ValidationFailed
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.derender import parse_chat, parse_completion


@pytest.mark.parametrize("read", [lambda body: parse(ChatCompletionRequest, body), parse_chat, parse_completion])
def test_a_body_that_is_null_is_missing(read: Callable[[Any], Any]) -> None:
    with pytest.raises(ValidationFailed, match="'missing'") as caught:
        read(None)
    assert caught.value.param == "body"
