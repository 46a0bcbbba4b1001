"""What of media is sent, by its older name."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import RenderLayerError
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.messages import MessagesRequest

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.mark.parametrize("model", [ChatCompletionRequest, MessagesRequest])
@pytest.mark.parametrize(
    ("given", "meant"),
    [(False, False), (True, True), (None, None), (0, None), ("false", None), ("off", None), (1, True)],
)
def test_only_false_itself_leaves_tensors_out(model: Any, given: Any, meant: bool | None) -> None:
    body = {"model": "m", "messages": HELLO, "max_tokens": 1, "return_mm_kwargs": given}
    assert parse(model, body).return_mm_kwargs is meant


def test_what_is_no_boolean_is_refused() -> None:
    with pytest.raises(RenderLayerError, match="return_mm_kwargs"):
        parse(ChatCompletionRequest, {"messages": HELLO, "return_mm_kwargs": "perhaps"})
