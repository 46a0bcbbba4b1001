"""`/v1/chat/completions` bodies (wire.md 2.4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ModelWrapValidatorHandler, PrivateAttr, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire.chat_tools import custom_names, needs_functions, plain_call, with_functions
from renderlayer.wire.common.base import Body, DictOf, ListOf, parse_at, refused
from renderlayer.wire.common.sampling import MediaOptions, SamplingFields, check_number
from renderlayer.wire.generate import ContinueFrom

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

IMAGE_DETAILS = ("auto", "low", "high", "original")
_NEEDED, _PLAIN, _TEXTS = {"role", "content"}, {"role", "content", "tool_call_id"}, {str}
_FUNCTION_CALL = "ChatCompletionMessageFunctionToolCallParam"


class FunctionDefinition(Body):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None


class ChatTool(Body):
    type: Literal["function"] = "function"
    function: FunctionDefinition

    def dumped(self) -> dict[str, Any]:
        """The tool as templates and parsers see it: nulls kept, `strict` and `defer_loading` only when given."""
        function = self.function
        out: dict[str, Any] = {
            "name": function.name,
            "description": function.description,
            "parameters": function.parameters,
        }
        if function.strict is not None:
            out["strict"] = function.strict
        if function.defer_loading is not None:
            out["defer_loading"] = function.defer_loading
        return {"type": self.type, "function": out}


class NamedFunction(Body):
    name: str


class NamedToolChoice(Body):
    function: NamedFunction
    type: Literal["function"] = "function"

    def dumped(self) -> dict[str, Any]:
        """Keys in the reference's order: function before type."""
        return {"function": {"name": self.function.name}, "type": "function"}


ToolChoice = Literal["none", "auto", "required"] | NamedToolChoice | None


def _readable(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for index, message in enumerate(messages):
        if isinstance(calls := message.get("tool_calls"), list):
            message["tool_calls"] = [plain_call(call) for call in calls]
        check_message(index, message)
    return messages


ZeroWhenNull = Annotated[int, BeforeValidator(lambda value: 0 if value is None else value)]
Messages = Annotated[ListOf[dict[str, Any]], AfterValidator(_readable)]
"""Chat messages, each of which some role's schema accepts."""


class ChatCompletionRequest(SamplingFields):
    messages: Messages
    echo: bool = False
    logprobs: bool | None = False
    top_logprobs: ZeroWhenNull = 0
    max_completion_tokens: int | None = None
    tools: ListOf[ChatTool] | None = None
    tool_choice: ToolChoice = "none"
    reasoning_effort: Effort | None = None
    include_reasoning: bool = True
    parallel_tool_calls: bool | None = True
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    add_special_tokens: bool = False
    documents: ListOf[DictOf[str, str]] | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: MediaOptions | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    return_prompt_text: bool | None = None
    continue_from: ContinueFrom | None = None
    return_token_spans: bool = False
    return_prefix: bool = False

    _custom_tools: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _remembering_custom_tools(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        request = handler(data)
        if isinstance(data, dict):
            request._custom_tools = custom_names(data.get("tools"))
        return request

    @model_validator(mode="before")
    @classmethod
    def _chat_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if not isinstance(data.get("messages", []), (list, str, dict)):
            raise BadRequest("`messages` must be a list.")
        if data.get("add_generation_prompt") and data.get("continue_final_message"):
            raise BadRequest("Cannot set both `continue_final_message` and `add_generation_prompt` to True.")
        _check_logprobs(data)
        if needs_functions(data):
            data = with_functions(data)
        return {**data, "tool_choice": _tool_choice(data)} if _needs_choice(data) else data

    @property
    def custom_tools(self) -> tuple[str, ...]:
        """Names of the tools that were declared as custom tools; among `tools` they are functions."""
        return self._custom_tools

    @property
    def named_tool(self) -> str | None:
        """The function that tool_choice names, if it names one."""
        return self.tool_choice.function.name if isinstance(self.tool_choice, NamedToolChoice) else None

    def choice(self) -> str | dict[str, Any] | None:
        """tool_choice as plain data."""
        return self.tool_choice.dumped() if isinstance(self.tool_choice, NamedToolChoice) else self.tool_choice

    def tool_dicts(self) -> list[dict[str, Any]] | None:
        """The tools as plain data, or None when the request has none."""
        return None if self.tools is None else [tool.dumped() for tool in self.tools]


def _check_logprobs(data: dict[str, Any]) -> None:
    if data.get("logprob_token_ids") and not data.get("logprobs"):
        raise BadRequest("when using `logprob_token_ids`, `logprobs` must be set to true.", "logprob_token_ids")
    check_number(data, "top_logprobs")
    top = data.get("top_logprobs")
    if top is None:
        return
    if top < 0 and top != -1:
        raise BadRequest("`top_logprobs` must be a positive value or -1.", "top_logprobs", top)
    if (top == -1 or top > 0) and not data.get("logprobs"):
        raise BadRequest("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")


def _needs_choice(data: dict[str, Any]) -> bool:
    return data.get("tools") is not None or data.get("tool_choice") is not None


def _tool_choice(data: dict[str, Any]) -> Any:
    """The choice that a request means, after the checks of wire.md 2.4."""
    tools = data.get("tools")
    if tools == []:
        raise BadRequest(
            "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.", "tools"
        )
    if "tool_choice" not in data:
        return "auto" if tools else "none"
    choice = data["tool_choice"]
    if choice is None or choice == "none":
        return choice
    if tools is None:
        raise BadRequest("When using `tool_choice`, `tools` must be set.", "tool_choice")
    if isinstance(choice, str):
        if choice not in ("auto", "required"):
            raise BadRequest(
                f"Invalid value for `tool_choice`: {choice}! "
                'Only named tools, "none", "auto" or "required" are supported.',
                "tool_choice",
            )
        return choice
    if isinstance(choice, dict):
        _check_named(choice, tools)
    return choice


def _check_named(choice: dict[str, Any], tools: Any) -> None:
    function = choice.get("function")
    if not isinstance(function, dict):
        raise BadRequest("`tool_choice.function` must be an object with the name of a tool.", "tool_choice.function")
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise BadRequest("`tool_choice.function.name` must be a non-empty string.", "tool_choice.function.name")
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    if name not in [entry.get("name") for entry in functions if isinstance(entry, dict)]:
        raise BadRequest(
            "The tool specified in `tool_choice` does not match any of the specified `tools`", "tool_choice"
        )


def check_message(index: int, message: dict[str, Any], field: str = "messages") -> None:
    """Refuse a message that no role's schema accepts (wire.md 1.7, 3.3).

    Any role is accepted, and content may be missing; what is there must have a type that some role knows. Content
    parts are read later, one by one.
    """
    if message.keys() >= _NEEDED and message.keys() <= _PLAIN and _TEXTS.issuperset(map(type, message.values())):
        return  # most messages are fine, and long conversations have many
    place = (field, index)
    role = message.get("role")
    if not isinstance(role, str):
        kind, text = (
            ("missing", "Field required") if role is None else ("string_type", "Input should be a valid string")
        )
        raise refused((*place, "role"), kind, text, message if role is None else role)
    content = message.get("content")
    nullable = role in ("assistant", "function") or "content" not in message
    if not isinstance(content, (str, list)) and not (content is None and nullable):
        raise refused((*place, "content"), "string_type", "Input should be a valid string", content)
    call_id = message.get("tool_call_id")
    if call_id is not None and not isinstance(call_id, str):
        raise refused((*place, "tool_call_id"), "string_type", "Input should be a valid string", call_id)
    # a message that answers a call has no name, so that this may be anything
    answers = role == "tool" and call_id is not None and content is not None
    if "name" in message and not isinstance(message["name"], str) and not answers:
        raise refused((*place, "name"), "string_type", "Input should be a valid string", message["name"])
    if role == "developer" and message.get("tools") is not None:
        _check_tools(place, message["tools"])
    calls = message.get("tool_calls")
    if calls is not None:
        if not isinstance(calls, list):
            raise refused((*place, "tool_calls"), "iterable_type", "Input should be iterable", calls)
        for position, call in enumerate(calls):
            _check_tool_call(position, call)


def _check_tools(place: tuple[str | int, ...], tools: Any) -> None:
    """The tools that a developer message brings."""
    if not isinstance(tools, list):
        raise refused((*place, "tools"), "list_type", "Input should be a valid list", tools)
    for position, tool in enumerate(tools):
        parse_at(ChatTool, tool, *place, "tools", position)


def _check_tool_call(position: int, call: Any) -> None:
    """A tool call of the history, as the client's typed dictionary demands (wire.md 3.3)."""
    if not isinstance(call, dict):
        raise refused((position, _FUNCTION_CALL), "dict_type", "Input should be a valid dictionary", call)
    if call.get("type") == "custom":
        raise BadRequest("Custom tool calls are not supported in messages.", "tool_calls")
    for key in ("id", "type"):
        if not isinstance(call.get(key), str):
            raise _missing((position, _FUNCTION_CALL, key), call, key)
    if call["type"] != "function":
        raise refused((position, _FUNCTION_CALL, "type"), "literal_error", "Input should be 'function'", call["type"])
    function = call.get("function")
    if not isinstance(function, dict):
        raise _missing((position, _FUNCTION_CALL, "function"), call, "function")
    for key in ("arguments", "name"):
        if not isinstance(function.get(key), str):
            raise _missing((position, _FUNCTION_CALL, "function", key), function, key)


def _missing(loc: tuple[str | int, ...], holder: dict[str, Any], key: str) -> Exception:
    if key not in holder:
        return refused(loc, "missing", "Field required", holder)
    return refused(loc, "string_type", "Input should be a valid string", holder[key])
