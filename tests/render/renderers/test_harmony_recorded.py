"""Recorded harmony renders of the reference: the same tokens, or a refusal with the same status."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from renderlayer.errors import RenderLayerError
from renderlayer.render.chat import render_chat
from renderlayer.render.messages.render import render_messages
from renderlayer.render.responses.render import render_responses
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import Body, parse
from renderlayer.wire.messages import MessagesRequest
from renderlayer.wire.responses import ResponsesRequest
from tests.render.renderers.conftest import DATE

ENDPOINTS: dict[str, tuple[type[Body], Callable[..., dict[str, Any]]]] = {
    "/v1/chat/completions/render": (ChatCompletionRequest, render_chat),
    "/v1/messages/render": (MessagesRequest, render_messages),
    "/v1/responses/render": (ResponsesRequest, render_responses),
}
ON_PURPOSE = {"chat_continue_final_message"}  # is refused, where the reference begins another turn without a word


def test_recorded_prompts(shared: Path) -> None:
    settings = Settings(
        model=str(shared / "models/tiny-gptoss"),
        served_model_name=["tiny-gptoss"],
        tool_call_parser="openai",
        enable_auto_tool_choice=True,
        system_start_date=DATE,
    )
    server = ServedModel.open(settings)
    count = 0
    with gzip.open(shared / "corpus/tiny-gptoss.jsonl.gz", "rt", encoding="utf-8", errors="surrogatepass") as lines:
        for case in map(json.loads, lines):
            if case["path"] not in ENDPOINTS or not isinstance(case["request"], dict) or case["name"] in ON_PURPOSE:
                continue
            count += 1
            shape, render = ENDPOINTS[case["path"]]
            try:
                answer = render(parse(shape, case["request"]), server)
            except RenderLayerError as error:
                assert error.status == case["status"], (case["name"], error)
            else:
                assert answer["token_ids"] == case["response"]["token_ids"], case["name"]
    assert count > 100
