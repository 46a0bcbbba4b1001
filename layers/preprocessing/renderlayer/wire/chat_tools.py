"""What chat requests say about tools beyond functions, in terms of functions (wire.md 11.1).

A custom tool is a function of one string, `input`; a choice among allowed tools shows those alone.
"""

from __future__ import annotations

import json
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.request_context import remark

Json = dict[str, Any]

CUSTOM_INPUT = "input"
CUSTOM_PARAMETERS: Json = {
    "type": "object",
    "properties": {CUSTOM_INPUT: {"type": "string", "description": "The freeform text payload for this tool."}},
    "required": [CUSTOM_INPUT],
    "additionalProperties": False,
}
"""What a model sees of a custom tool's parameters."""


def custom_function(name: str, description: Any, form: Any) -> Json:
    """A custom tool as a function: `description`, `parameters` and `strict`.

    A grammar of its input is told in the description. Where it can be written as a pattern, the function is strict, so
    that engines hold the input to it; where it cannot, the caller is told.
    """
    if not isinstance(form, dict) or form.get("type") != "grammar":
        return {"description": description, "parameters": CUSTOM_PARAMETERS, "strict": None}
    from renderlayer.wire.custom_grammars import pattern_of

    grammar = form["grammar"] if isinstance(form.get("grammar"), dict) else form
    syntax, definition = str(grammar.get("syntax", "")), str(grammar.get("definition", ""))
    hint = f"The input must match this {syntax} grammar:\n{definition}"
    description = f"{description}\n\n{hint}" if description else hint
    pattern = pattern_of(syntax, definition)
    if pattern is None:
        remark(f"the grammar of the tool {name[:40]!r} is a hint in its description, not a constraint")
        return {"description": description, "parameters": CUSTOM_PARAMETERS, "strict": None}
    held = {**CUSTOM_PARAMETERS["properties"][CUSTOM_INPUT], "pattern": pattern}
    return {
        "description": description,
        "parameters": {**CUSTOM_PARAMETERS, "properties": {CUSTOM_INPUT: held}},
        "strict": True,
    }


def in_json(parameters: Any) -> Any:
    """A custom tool's parameters with its pattern as JSON spells the input, which is how engines apply patterns.

    Other parameters come back as they are.
    """
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    held = properties.get(CUSTOM_INPUT) if isinstance(properties, dict) and len(properties) == 1 else None
    told = CUSTOM_PARAMETERS["properties"][CUSTOM_INPUT]
    if not isinstance(held, dict) or held.keys() != {*told, "pattern"} or held["description"] != told["description"]:
        return parameters
    from renderlayer.wire.custom_grammars import spelled_in_json

    return {**parameters, "properties": {CUSTOM_INPUT: {**held, "pattern": spelled_in_json(held["pattern"])}}}


def is_strict(tool: Json) -> bool:
    """Whether the client asked for arguments that fit the schema."""
    return tool["function"].get("strict") is True


def needs_functions(data: Json) -> bool:
    """Whether a body speaks of other tools than functions."""
    choice, tools = data.get("tool_choice"), data.get("tools")
    if isinstance(choice, dict) and choice.get("type") in ("custom", "allowed_tools"):
        return True
    return isinstance(tools, list) and any(isinstance(tool, dict) and tool.get("type") == "custom" for tool in tools)


def custom_names(tools: Any) -> tuple[str, ...]:
    """Names of the custom tools among a body's tools."""
    if not isinstance(tools, list):
        return ()
    customs = [tool for tool in tools if isinstance(tool, dict) and tool.get("type") == "custom"]
    return tuple(name for tool in customs if (name := _name(tool)) is not None)


def with_functions(data: Json) -> Json:
    """The body with functions in place of custom tools, and a choice that knows functions only.

    Raises:
        BadRequest: a custom tool without a name, or a choice among allowed tools that is none.
    """
    tools = data.get("tools")
    shown = [_function(tool) for tool in tools] if isinstance(tools, list) else tools
    choice = data.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "custom":
        choice = {"type": "function", "function": choice.get("custom")}
    elif isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        shown, choice = _allowed(shown, choice.get("allowed_tools"))
    return {**data, "tools": shown, **({} if "tool_choice" not in data else {"tool_choice": choice})}


def _function(tool: Any) -> Any:
    if not isinstance(tool, dict) or tool.get("type") != "custom":
        return tool
    custom = tool.get("custom")
    if not isinstance(custom, dict) or not isinstance(custom.get("name"), str):
        raise BadRequest("A custom tool needs a name under `custom`.", "tools")
    function = custom_function(custom["name"], custom.get("description"), custom.get("format"))
    return {"type": "function", "function": {"name": custom["name"], **function}}


def _allowed(tools: Any, allowed: Any) -> tuple[Any, Any]:
    """The tools that a choice allows, and the choice among them."""
    entries = allowed.get("tools") if isinstance(allowed, dict) else None
    if not isinstance(entries, list) or allowed.get("mode") not in ("auto", "required"):
        raise BadRequest("`tool_choice.allowed_tools` needs a mode, auto or required, and tools.", "tool_choice")
    names = {_name(entry) for entry in entries}
    kept = [tool for tool in tools if _name(tool) in names] if isinstance(tools, list) else tools
    if not kept:
        raise BadRequest("`tool_choice` allows none of the `tools`.", "tool_choice")
    return kept, allowed["mode"]


def _name(tool: Any) -> Any:
    held = (tool.get("function") or tool.get("custom")) if isinstance(tool, dict) else None
    name = held.get("name") if isinstance(held, dict) else None
    return name if isinstance(name, str) else None


def plain_call(call: Any) -> Any:
    """A call of the history with its arguments as text: custom calls become calls of functions."""
    if not isinstance(call, dict):
        return call
    custom, function = call.get("custom"), call.get("function")
    if call.get("type") == "custom" and isinstance(custom, dict) and isinstance(custom.get("input"), str):
        text = json.dumps({CUSTOM_INPUT: custom["input"]}, ensure_ascii=False)
        return {"id": call.get("id"), "type": "function", "function": {"name": custom.get("name"), "arguments": text}}
    if isinstance(function, dict) and isinstance(function.get("arguments"), dict):
        text = json.dumps(function["arguments"], ensure_ascii=False)
        return {**call, "function": {**function, "arguments": text}}
    return call
