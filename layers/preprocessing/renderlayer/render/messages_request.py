"""A Messages request as the chat request that means the same (wire.md 2.9)."""

from __future__ import annotations

from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.messages_history import chat_messages, loaded_tools
from renderlayer.render.server import Server
from renderlayer.wire.chat import (
    ChatCompletionRequest,
    ChatTool,
    FunctionDefinition,
    NamedFunction,
    NamedToolChoice,
    ToolChoice,
)
from renderlayer.wire.generate import StreamOptions
from renderlayer.wire.messages import MessagesRequest

# Fields of one name and meaning in both APIs.
_SHARED = (
    "model",
    "temperature",
    "top_p",
    "top_k",
    "stream",
    "watermarking",
    "chat_template_kwargs",
    "mm_payload",
    "cache_salt",
    "kv_transfer_params",
    "ec_transfer_params",
    "vllm_xargs",
)


def chat_request(request: MessagesRequest, server: Server) -> ChatCompletionRequest:
    """Convert a request.

    Args:
        server: knows what the model's template makes of system messages and of disabled thinking.

    Raises:
        BadRequest: the tool choice names no tool.
    """
    thinking = request.thinking
    choice = request.tool_choice
    tools = _tools(request)
    return ChatCompletionRequest.model_construct(
        **{name: getattr(request, name) for name in _SHARED},
        bad_words=[],
        messages=chat_messages(request, server),
        max_completion_tokens=request.max_tokens,
        stop=request.stop_sequences,
        stream_options=StreamOptions(include_usage=True, continuous_usage_stats=True) if request.stream else None,
        tools=tools,
        tool_choice=_tool_choice(request, tools),
        parallel_tool_calls=not (choice is not None and choice.disable_parallel_tool_use),
        thinking_token_budget=thinking.budget_tokens if thinking and thinking.type == "enabled" else None,
        reasoning_effort=_effort(request, server),
        response_format=_response_format(request),
    )


def _tools(request: MessagesRequest) -> list[ChatTool] | None:
    """The tools as functions; deferred ones only once the conversation has named them."""
    if request.tools is None:
        return None
    loaded = loaded_tools(request)
    return [
        ChatTool(function=FunctionDefinition(name=tool.name, description=tool.description, parameters=tool.parameters))
        for tool in request.tools
        if not tool.defer_loading or tool.name in loaded
    ]


def _tool_choice(request: MessagesRequest, tools: list[ChatTool] | None) -> ToolChoice:
    choice = request.tool_choice
    if choice is None or choice.type == "auto":
        return None if tools is None else "auto"
    if choice.type == "none":
        return "none"
    if not tools:
        raise BadRequest("When using `tool_choice`, `tools` must be set.", "tool_choice")
    if choice.type == "any":
        return "required"
    if choice.name not in [tool.function.name for tool in tools]:
        raise BadRequest(
            "The tool specified in `tool_choice` does not match any of the specified `tools`", "tool_choice"
        )
    return NamedToolChoice(function=NamedFunction(name=choice.name or ""))


def _effort(request: MessagesRequest, server: Server) -> str | None:
    if request.thinking is not None and request.thinking.type == "disabled":
        return server.disabled_thinking_effort
    return request.output_config.effort if request.output_config else None


def _response_format(request: MessagesRequest) -> dict[str, Any] | None:
    form = request.output_config.format if request.output_config else None
    if form is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "response", "schema": form.schema_}}
