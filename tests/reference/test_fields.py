"""Our wire models have the reference's fields, with its types, bounds and defaults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from renderlayer.wire import derender, generate, tokenize
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.messages import CountTokensRequest, MessagesRequest
from renderlayer.wire.responses import ResponsesRequest
from tests.reference.schema import rows

TABLE: dict[str, dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_name("fields.json").read_bytes())
OURS: dict[str, type[BaseModel]] = {
    "ChatCompletionRequest": ChatCompletionRequest,
    "CompletionRequest": CompletionRequest,
    "ResponsesRequest": ResponsesRequest,
    "AnthropicMessagesRequest": MessagesRequest,
    "AnthropicCountTokensRequest": CountTokensRequest,
    "TokenizeCompletionRequest": tokenize.TokenizeCompletionRequest,
    "TokenizeChatRequest": tokenize.TokenizeChatRequest,
    "DetokenizeRequest": tokenize.DetokenizeRequest,
    "PlaceholderRangeInfo": generate.PlaceholderRange,
    "MultiModalFeatures": generate.MultiModalFeatures,
    "GenerateRequest": generate.GenerateRequest,
    "GenerateTokensChoice": derender.GenerateChoice,
    "GenerateTokensStreamChoice": derender.GenerateChunkChoice,
    "GenerateTokensResponse": derender.GenerateResponse,
    "GenerateTokensStreamResponse": derender.GenerateChunk,
    "DerenderChatRequest": derender.DerenderChatRequest,
    "DerenderCompletionRequest": derender.DerenderCompletionRequest,
    "DerenderStreamState": derender.DerenderStreamState,
    "DerenderChatStreamRequest": derender.DerenderChatStreamRequest,
    "DerenderCompletionStreamRequest": derender.DerenderCompletionStreamRequest,
}
IGNORED = "answered null by the reference's derender too, or read from nowhere: not looked at"
# What differs on purpose: model ("*": all) and field → why.
LISTED = {
    ("*", "cache_salt"): "one check for all bodies, as the reference's own, which binds first, has it",
    (
        "*",
        "mm_payload",
    ): "payloads in object storage beside the reference's two; null is refused, which no schema shows",
    ("*", "request_id"): "absent is None, and null refused, which no schema shows",
    ("*", "stop"): "absent means the same as an empty list",
    ("*", "stop_token_ids"): "absent means the same as an empty list",
    ("*", "thinking_token_budget"): "checked by hand, since the reference refuses what pydantic would convert",
    ("*", "top_logprobs"): "null is read as zero by both, and shown by one schema",
    ("*", "continue_from"): "ours alone: docs/continue.md",
    ("*", "return_token_spans"): "ours alone: docs/continue.md",
    ("*", "return_prefix"): "ours alone: docs/continue.md",
    ("*", "prefix"): "ours alone: docs/continue.md",
    ("CompletionRequest", "media_io_kwargs"): "no field in the reference, which refuses it all the same",
    ("CompletionRequest", "mm_processor_kwargs"): "no field in the reference, which refuses it all the same",
    ("ResponsesRequest", "prompt"): "refused whatever it holds",
    ("PlaceholderRangeInfo", "is_embed"): "wire.md 11.1",
    ("*", "routed_experts"): IGNORED,
    ("*", "sampling_mask"): IGNORED,
    ("*", "weight_versions"): IGNORED,
    ("GenerateTokensResponse", "created"): IGNORED,
    ("GenerateTokensResponse", "model"): IGNORED,
    ("GenerateTokensResponse", "prompt_token_id_logprobs"): IGNORED,
    ("*", "mm_placeholders"): IGNORED,
    ("GenerateTokensStreamResponse", "kv_transfer_params"): "engines of later releases may send it; it is passed on",
    ("DerenderStreamState", "prev_tokens"): "bounded",
    ("DerenderStreamState", "resume"): "the state of a stream that goes on without a replay",
    ("GenerateTokensChoice", "finish_reason"): "null is read, which this model's schema may not show",
}


def reason(model: str, field: str) -> str | None:
    return LISTED.get((model, field)) or LISTED.get(("*", field))


@pytest.mark.parametrize("name", sorted(OURS))
def test_fields_are_the_references(name: str) -> None:
    theirs, ours = TABLE[name], rows(OURS[name].model_json_schema())
    different = [field for field in sorted({*theirs, *ours}) if theirs.get(field) != ours.get(field)]
    unlisted = [(field, theirs.get(field), ours.get(field)) for field in different if not reason(name, field)]

    assert unlisted == []


def test_every_listed_difference_is_one() -> None:
    found = set()
    for name, model in OURS.items():
        theirs, ours = TABLE[name], rows(model.model_json_schema())
        found |= {(name, field) for field in {*theirs, *ours} if theirs.get(field) != ours.get(field)}
    seen = found | {("*", field) for _, field in found}

    assert [entry for entry in LISTED if entry not in seen and entry != ("GenerateTokensChoice", "finish_reason")] == []


def test_the_table_is_of_the_release_that_is_spoken() -> None:
    from renderlayer.http.status import REFERENCE_VERSION

    assert str(TABLE["release"]).startswith(REFERENCE_VERSION)
