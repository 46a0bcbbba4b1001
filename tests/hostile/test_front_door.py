"""The front door's engine need not have seen an image: it gets the tensors whatever the request asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_bundle
from renderlayer.render.chat import media_payload
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse


@pytest.mark.parametrize("wish", [{"mm_payload": "none"}, {"return_mm_kwargs": False}, {}])
@pytest.mark.parametrize(("default", "sent"), [("none", "tensors"), ("auto", "auto")])
def test_none_is_for_render_alone(seeing: Path, wish: dict[str, Any], default: str, sent: str) -> None:
    settings = Settings(model="seeing", mm_payload=default)
    server = ServedModel(open_bundle(seeing), settings)
    request = parse(ChatCompletionRequest, {"messages": [{"role": "user", "content": "x"}], **wish})
    assert media_payload(request, server.front_door) == sent
    assert media_payload(request, server) == ("none" if wish else default)
