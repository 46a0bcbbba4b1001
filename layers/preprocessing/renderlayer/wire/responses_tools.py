"""What `tools` and `tool_choice` of a Responses request may be (wire.md 2.8)."""

from __future__ import annotations

from typing import Any

from renderlayer.wire.chat import FunctionDefinition
from renderlayer.wire.common.base import parse_at, refused

Place = tuple[str | int, ...]

TOOL_NEEDS: dict[str, tuple[tuple[str, type | tuple[type, ...]], ...]] = {
    "function": (("name", str),),
    "custom": (("name", str),),
    "namespace": (("name", str), ("description", str), ("tools", list)),
    "file_search": (("vector_store_ids", list),),
    "computer_use_preview": (("display_height", int), ("display_width", int), ("environment", str)),
    "mcp": (("server_label", str),),
    "code_interpreter": (("container", (str, dict)),),
}
"""Tool types that need more than their name, and what; types that are not here need nothing, known or not: they run at
a provider, and no model is shown them."""
CALLABLE = ("function", "custom", "namespace")
"""Types that a model is shown."""
CHOICE_NEEDS: dict[str, tuple[tuple[str, type], ...]] = {
    "function": (("name", str),),
    "custom": (("name", str),),
    "allowed_tools": (("mode", str), ("tools", list)),
    "mcp": (("server_label", str),),
    **dict.fromkeys(
        (
            *("file_search", "web_search_preview", "web_search_preview_2025_03_11", "computer", "computer_use"),
            *("computer_use_preview", "image_generation", "code_interpreter", "programmatic_tool_calling"),
            *("apply_patch", "shell"),
        ),
        (),
    ),
}
"""Kinds of tool_choice that are objects, and what they need."""


def check_tool(tool: dict[str, Any], place: Place) -> None:
    """Refuse a tool that lacks what its type needs.

    Raises:
        ValidationFailed: with the tool's place in the body.
    """
    kind = tool.get("type")
    if not isinstance(kind, str):
        raise refused((*place, "type"), "literal_error", "Input should be a known tool type", kind)
    demand(tool, TOOL_NEEDS.get(kind, ()), place)
    if kind in ("function", "custom"):
        parse_at(FunctionDefinition, tool, *place)
        form = tool.get("format")
        if kind == "custom" and form is not None and not isinstance(form, dict):
            raise refused((*place, "format"), "dict_type", "Input should be a valid dictionary", form)
    if kind == "namespace":
        for index, member in enumerate(tool["tools"]):
            if not isinstance(member, dict) or member.get("type") not in ("function", "custom"):
                raise refused(
                    (*place, "tools", index), "dict_type", "Input should be a function or custom tool", member
                )
            check_tool(member, (*place, "tools", index))


def check_choice(choice: dict[str, Any]) -> None:
    """Refuse a tool_choice that is none.

    Raises:
        ValidationFailed: of no known type, or without what its type needs.
    """
    kind = choice.get("type")
    if not isinstance(kind, str) or kind not in CHOICE_NEEDS:
        raise refused(("tool_choice", "type"), "literal_error", "Input should be a known kind of tool_choice", kind)
    demand(choice, CHOICE_NEEDS[kind], ("tool_choice",))
    if kind == "allowed_tools":
        if choice["mode"] not in ("auto", "required"):
            raise refused(
                ("tool_choice", "mode"), "literal_error", "Input should be 'auto' or 'required'", choice["mode"]
            )
        for index, entry in enumerate(choice["tools"]):
            if not isinstance(entry, dict):
                raise refused(("tool_choice", "tools", index), "dict_type", "Input should be a valid dictionary", entry)


def demand(holder: dict[str, Any], needs: tuple[tuple[str, type | tuple[type, ...]], ...], place: Place) -> None:
    """Refuse an object that lacks a key, or has it with a value of another type.

    Raises:
        ValidationFailed: with the key's place in the body.
    """
    for key, wanted in needs:
        if key not in holder:
            raise refused((*place, key), "missing", "Field required", holder)
        if not isinstance(holder[key], wanted):
            name = wanted.__name__ if isinstance(wanted, type) else "value"
            raise refused((*place, key), f"{name}_type", f"Input should be a valid {name}", holder[key])
