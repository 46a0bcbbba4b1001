"""A Messages request as the chat request that means the same (wire.md 2.9)."""

from __future__ import annotations

from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.messages.history import chat_messages
from renderlayer.render.messages.probes import disabled_thinking_effort
from renderlayer.request_context import remark
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import (
    ChatCompletionRequest,
    ChatTool,
    FunctionDefinition,
    NamedFunction,
    NamedToolChoice,
    ToolChoice,
)
from renderlayer.wire.generate import ContinueFrom, StreamOptions
from renderlayer.wire.message_tools import MessageTool
from renderlayer.wire.messages import MessagesConversation, MessagesRequest, ThinkingEnabled

# Fields of one name and meaning in both APIs.
_SHARED = (
    "temperature",
    "top_p",
    "top_k",
    "stream",
    "watermarking",
    "mm_payload",
    "return_mm_kwargs",
    "cache_salt",
    "kv_transfer_params",
    "ec_transfer_params",
    "vllm_xargs",
)


def chat_request(request: MessagesRequest, server: ServedModel) -> ChatCompletionRequest:
    """Convert a request.

    Args:
        server: knows what the model's template makes of system messages and of disabled thinking.

    Raises:
        BadRequest: a change of the tools names one that is not declared.
    """
    chat = conversation_request(request, server)
    for name in _SHARED:
        setattr(chat, name, getattr(request, name))
    chat.max_completion_tokens = request.max_tokens
    chat.continue_from = _continue_from(request, server)
    chat.return_prefix = request.return_prefix
    chat.stop = request.stop_sequences
    if request.stream:
        chat.stream_options = StreamOptions(include_usage=True, continuous_usage_stats=True)
    return chat


def _continue_from(request: MessagesRequest, server: ServedModel) -> ContinueFrom | None:
    """What counts messages of this API counts chat's."""
    given = request.continue_from
    if given is None:
        return None
    if given.messages > len(request.messages):
        raise BadRequest("continue_from.messages is more than the number of messages.", "continue_from.messages")
    held = chat_messages(request.model_copy(update={"messages": request.messages[: given.messages]}), server)
    return given.model_copy(update={"messages": len(held)})


def conversation_request(request: MessagesConversation, server: ServedModel) -> ChatCompletionRequest:
    """What determines the prompt, as a chat request. A turn of the assistant that comes last is continued.

    Raises:
        BadRequest: a change of the tools names one that is not declared.
    """
    choice = request.tool_choice
    messages = chat_messages(request, server)
    tools = _tools(request)
    last = request.messages[-1].role if request.messages else ""
    continued = last == "assistant" and _continued(messages, server)
    return ChatCompletionRequest.model_construct(
        model=request.model,
        chat_template_kwargs=request.chat_template_kwargs,
        bad_words=[],
        messages=messages,
        tools=tools,
        tool_choice=_tool_choice(request, tools),
        parallel_tool_calls=not (choice is not None and choice.disable_parallel_tool_use),
        thinking_token_budget=_thinking_budget(request, server),
        reasoning_effort=_effort(request, server),
        response_format=_response_format(request),
        add_generation_prompt=not continued,
        continue_final_message=continued,
    )


def _thinking_budget(request: MessagesConversation, server: ServedModel) -> int | None:
    """The budget of thinking; none at the front door of a model that does not think, whose engine would refuse it."""
    thinking = request.thinking
    if not isinstance(thinking, ThinkingEnabled):
        return None
    if server.is_front_door and not server.parsers.reasoning:
        remark("thinking.budget_tokens means nothing to this model, which has no reasoning parser")
        return None
    return thinking.budget_tokens


def _continued(messages: list[dict[str, Any]], server: ServedModel) -> bool:
    """Whether the answer goes on with the last message: a beginning that the client wrote for it."""
    last = messages[-1] if messages else {}
    begun = last.get("role") == "assistant" and bool(last.get("content")) and "tool_calls" not in last
    return begun and not server.model.facts.harmony


def _tools(request: MessagesConversation) -> list[ChatTool] | None:
    """The client's tools as functions, with what the conversation has changed about them.

    Raises:
        BadRequest: it changes a tool that is not declared.
    """
    tools = {tool.name: tool for tool in request.tools or ()}
    changes = [
        block
        for message in request.messages
        for block in (message.content if isinstance(message.content, list) else ())
        if block["type"] in ("tool_addition", "tool_removal")
    ]
    if request.tools is None and not changes:
        return None
    removed: set[str] = set()
    for change in changes:
        _change(tools, removed, change["type"], change["tool"])
    kept = [tool for tool in tools.values() if tool.name not in removed] if changes else request.tools or []
    return [_function(tool) for tool in kept if not _left_out(tool)]


def _change(tools: dict[str, MessageTool], removed: set[str], kind: str, tool: dict[str, Any]) -> None:
    if tool["type"] == "tool_definition":
        defined = MessageTool.model_validate(tool["definition"])
        tools[defined.name] = defined
        removed.discard(defined.name)
        return
    name = tool["name"]
    if name not in tools:
        raise BadRequest(f"{kind} references tool {name[:100]!r}, which is not declared in tools")
    if kind == "tool_removal":
        removed.add(name)
        return
    tools[name] = tools[name].model_copy(update={"defer_loading": None})
    removed.discard(name)


def _left_out(tool: MessageTool) -> bool:
    if tool.provided:
        remark(f"tools of type {str(tool.type)[:40]!r} are not shown to the model")
    return tool.provided


def _function(tool: MessageTool) -> ChatTool:
    definition = FunctionDefinition(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        strict=tool.strict,
        defer_loading=tool.defer_loading,
    )
    return ChatTool(function=definition)


def _tool_choice(request: MessagesConversation, tools: list[ChatTool] | None) -> ToolChoice:
    choice = request.tool_choice
    if choice is None:
        return None if tools is None else "auto"
    if choice.type == "tool":
        return NamedToolChoice(function=NamedFunction(name=choice.name or ""))
    return "required" if choice.type == "any" else choice.type


def _effort(request: MessagesConversation, server: ServedModel) -> str | None:
    if request.thinking is not None and request.thinking.type == "disabled":
        return server.derived(disabled_thinking_effort)
    return request.output_config.effort if request.output_config else None


def _response_format(request: MessagesConversation) -> dict[str, Any] | None:
    form = request.output_config.format if request.output_config else None
    if form is None or not form.schema_:
        return None
    return {"type": "json_schema", "json_schema": {"name": "json_schema", "schema": form.schema_}}
