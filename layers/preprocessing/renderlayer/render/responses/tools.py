"""Tools of a Responses request as chat tools, and the way back from a called name (wire.md 2.8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.request_context import remark
from renderlayer.wire.chat import ChatTool, FunctionDefinition, NamedFunction, NamedToolChoice, ToolChoice
from renderlayer.wire.chat_tools import custom_function
from renderlayer.wire.responses import NAMED, ResponsesRequest

# A namespaced function is known to the model by one name.
_JOINT = "__"


@dataclass(frozen=True)
class Origin:
    """What a name that the model calls stands for in the request."""

    name: str
    namespace: str | None = None
    custom: bool = False


@dataclass
class ToolSet:
    """The tools that a model can be given: functions, namespaces' functions and custom tools, in order.

    Attributes:
        tools: as chat tools.
        origins: by the name that the model calls.
        choice: chat's tool choice; None where nobody is to call, but calls are not ruled out either.
    """

    tools: list[ChatTool] = field(default_factory=list)
    origins: dict[str, Origin] = field(default_factory=dict)
    choice: ToolChoice = None


def joined(name: str, namespace: str | None) -> str:
    """The name by which the model knows a function."""
    return f"{namespace}{_JOINT}{name}" if namespace else name


def tool_set(request: ResponsesRequest) -> ToolSet:
    """The tools and the choice that a request means.

    Raises:
        BadRequest: the choice names what cannot be called.
    """
    out = ToolSet()
    for tool in request.tools:
        if tool["type"] == "namespace":
            for member in tool["tools"]:
                _add(out, member, tool["name"])
        elif tool["type"] in NAMED:
            _add(out, tool, None)
        else:
            remark(f"tools of type {tool['type'][:40]!r} are not shown to the model")
    choice = request.tool_choice
    if isinstance(choice, dict) and choice["type"] == "allowed_tools":
        _allow(out, choice["tools"])
        choice = choice["mode"] if out.tools else "auto"
    elif isinstance(choice, dict) and choice["type"] not in NAMED:
        return out  # of a provider's tool, which nobody calls here
    out.choice = _named(out, choice) if isinstance(choice, dict) else _simple(out, choice)
    return out


def _add(out: ToolSet, tool: dict[str, Any], namespace: str | None) -> None:
    custom = tool["type"] == "custom"
    name = joined(tool["name"], namespace)
    given = {key: tool.get(key) for key in ("description", "parameters", "strict")}
    if custom:
        given = custom_function(name, tool.get("description"), tool.get("format"))
    definition = FunctionDefinition(name=name, **given)
    out.tools.append(ChatTool(function=definition))
    out.origins[name] = Origin(tool["name"], namespace, custom)


def _allow(out: ToolSet, entries: list[dict[str, Any]]) -> None:
    """Keep what allowed_tools lists: functions by name, with or without their namespace, and whole namespaces."""
    kept = {name for name, origin in out.origins.items() if any(_lists(entry, name, origin) for entry in entries)}
    out.tools = [tool for tool in out.tools if tool.function.name in kept]


def _lists(entry: dict[str, Any], name: str, origin: Origin) -> bool:
    wanted = entry.get("name")
    if entry.get("type") == "namespace":
        return wanted == origin.namespace
    return wanted in (name, origin.name)


def _simple(out: ToolSet, choice: str) -> ToolChoice:
    if not out.tools:
        if choice == "required":
            raise BadRequest("`tool_choice` is required, but there is no tool that could be called.", "tool_choice")
        return "none"
    return "required" if choice == "required" else "auto" if choice == "auto" else "none"


def _named(out: ToolSet, choice: dict[str, Any]) -> ToolChoice:
    wanted = joined(str(choice.get("name")), choice.get("namespace"))
    for tool in out.tools:
        name = tool.function.name
        if wanted in (name, out.origins[name].name):
            return NamedToolChoice(function=NamedFunction(name=name))
    raise BadRequest("The tool specified in `tool_choice` does not match any of the specified `tools`", "tool_choice")
