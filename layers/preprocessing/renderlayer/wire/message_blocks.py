"""Content blocks of Anthropic's messages: which there are, and what they must hold (wire.md 2.9)."""

from __future__ import annotations

from typing import Any

from renderlayer.wire.common.base import parse_at, refused
from renderlayer.wire.message_tools import MessageTool

Block = dict[str, Any]

CHANGES = ("tool_addition", "tool_removal")
PROVIDED = (
    *("document", "search_result", "server_tool_use", "mcp_tool_use", "container_upload", "compaction"),
    *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "mcp_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
)
"""Blocks that answers of a provider, or its files, leave in a conversation; read as far as they hold text."""
_TYPES = frozenset(
    ("text", "image", "tool_use", "tool_result", "tool_reference", "thinking", "redacted_thinking", *CHANGES, *PROVIDED)
)
# Keys that have one type in all blocks, and the types; each may be null or missing.
_KEYS: dict[str, type] = {
    **dict.fromkeys(("text", "id", "tool_use_id", "name", "tool_name", "thinking", "signature", "data"), str),
    "source": dict,
    "input": dict,
    "tool": dict,
}


def check_block(block: Block, place: tuple[str | int, ...], changes: bool) -> None:
    """Refuse a content block of an unknown type, or with a key of another type than all blocks have it.

    Args:
        changes: whether blocks that change the tools are allowed here.

    Raises:
        ValidationFailed: with the block's place in the body.
    """
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise refused((*place, "type"), "literal_error", "Input should be a known content block type", kind)
    if kind in PROVIDED:
        return
    for key, wanted in _KEYS.items():
        if block.get(key) is not None and not isinstance(block[key], wanted):
            raise refused(
                (*place, key), f"{wanted.__name__}_type", f"Input should be a valid {wanted.__name__}", block[key]
            )
    content = block.get("content")
    if content is not None and not isinstance(content, str):
        _check_content(content, (*place, "content"))
    if kind in CHANGES:
        if not changes:
            raise refused(place, "value_error", f'{kind} blocks are only allowed in messages with role "system"', block)
        _check_change(block, place)


def _check_content(content: Any, place: tuple[str | int, ...]) -> None:
    if not isinstance(content, list):
        raise refused(place, "string_type", "Input should be a valid string", content)
    for index, entry in enumerate(content):
        if not isinstance(entry, dict):
            raise refused((*place, index), "dict_type", "Input should be a valid dictionary", entry)


def _check_change(block: Block, place: tuple[str | int, ...]) -> None:
    """A change of the tools names one that was declared, or brings its definition."""
    tool = block.get("tool") or {}
    kind, removal = tool.get("type"), block["type"] == "tool_removal"
    if kind not in ("tool_reference", "tool_definition") or (removal and kind != "tool_reference"):
        raise refused((*place, "tool"), "value_error", "Input should be a tool_reference or tool_definition", tool)
    if kind == "tool_definition":
        parse_at(MessageTool, tool.get("definition"), *place, "tool", "definition")
    elif not isinstance(tool.get("name"), str):
        raise refused((*place, "tool", "name"), "string_type", "Input should be a valid string", tool.get("name"))
