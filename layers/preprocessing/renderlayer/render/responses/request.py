"""A Responses request as the chat request that means the same (wire.md 2.8).

The prompt is tokenized as chat does it, without adding special tokens: the template prints them. The reference adds
them once more here, which doubles BOS for templates that print it (wire.md 9.15).
"""

from __future__ import annotations

from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.responses.input import chat_messages, continues
from renderlayer.render.responses.tools import tool_set
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.generate import ContinueFrom
from renderlayer.wire.responses import ResponsesRequest, TextConfig

# Fields of one name and meaning in both APIs.
_SHARED = (
    "model",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "seed",
    "stop_token_ids",
    "ignore_eos",
    "logit_bias",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "include_stop_str_in_output",
    "watermarking",
    "structured_outputs",
    "parallel_tool_calls",
    "chat_template_kwargs",
    "stream",
    "media_io_kwargs",
    "mm_processor_kwargs",
    "mm_payload",
    "return_mm_kwargs",
    "cache_salt",
    "priority",
    "kv_transfer_params",
    "ec_transfer_params",
)


def chat_request(request: ResponsesRequest) -> ChatCompletionRequest:
    """Convert a request.

    Raises:
        ValidationFailed: an input item is malformed.
        BadRequest: an input item or a tool choice is not supported.
    """
    tools = tool_set(request)
    continued = continues(request.input)
    return ChatCompletionRequest.model_construct(
        **{name: getattr(request, name) for name in _SHARED},
        bad_words=[],
        stop=request.stop or None,
        messages=chat_messages(request.input, request.instructions),
        max_completion_tokens=request.max_output_tokens,
        logprobs=request.logprobs is not None,
        top_logprobs=request.logprobs,
        response_format=_response_format(request.text),
        tools=tools.tools or None,
        tool_choice=tools.choice,
        reasoning_effort=request.reasoning.effort if request.reasoning else None,
        add_generation_prompt=not continued,
        continue_final_message=continued,
        truncate_prompt_tokens=None if request.truncation == "disabled" else -1,
        vllm_xargs=request.vllm_xargs,
        continue_from=_continue_from(request),
        return_prefix=request.return_prefix,
    )


def _continue_from(request: ResponsesRequest) -> ContinueFrom | None:
    """What counts items of the input counts chat's messages."""
    given = request.continue_from
    if given is None:
        return None
    items = request.input if isinstance(request.input, list) else [request.input]
    if given.messages > len(items):
        raise BadRequest("continue_from.messages is more than the number of input items.", "continue_from.messages")
    if isinstance(request.input, str):
        return given
    held = chat_messages(request.input[: given.messages], request.instructions)
    return given.model_copy(update={"messages": len(held)})


def _response_format(text: TextConfig | None) -> dict[str, Any] | None:
    form = text.format if text else None
    if form is None or form.type == "text":
        return None
    if form.type == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": form.name, "schema": form.schema_}}
