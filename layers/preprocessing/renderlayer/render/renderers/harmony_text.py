"""The fixed texts of a harmony prompt: system message, developer message, tools (wire.md 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.renderers.typescript import typescript

IDENTITY = "You are ChatGPT, a large language model trained by OpenAI."
KNOWLEDGE_CUTOFF = "2024-06"
EFFORTS = ("low", "medium", "high")
DEFAULT_EFFORT = "medium"
NAMESPACE = "functions"
_CHANNELS = "# Valid channels: analysis, commentary, final. Channel must be included for every message."
_TOOL_CHANNEL = f"Calls to these tools must go to the commentary channel: '{NAMESPACE}'."
_DEEPEST = 118
"""Nesting of a tool's schema that the reference's library still reads."""


def system_text(date: str, effort: str | None, with_tools: bool, instructions: str | None = None) -> str:
    """The system message.

    Args:
        date: of the conversation, YYYY-MM-DD.
        effort: reasoning effort, after the server's map; None is medium.
        with_tools: whether a developer message lists functions.
        instructions: those that stand here instead of in a developer message.

    Raises:
        BadRequest: harmony does not know the effort.
    """
    if effort is not None and effort not in EFFORTS:
        raise BadRequest(
            f"Harmony does not support reasoning_effort={effort!r}. Supported values are: {', '.join(EFFORTS)}.",
            "reasoning_effort",
        )
    identity = f"{IDENTITY}\n{instructions}" if instructions else IDENTITY
    about = f"{identity}\nKnowledge cutoff: {KNOWLEDGE_CUTOFF}\nCurrent date: {date}"
    channels = f"{_CHANNELS}\n{_TOOL_CHANNEL}" if with_tools else _CHANNELS
    return "\n\n".join((about, f"Reasoning: {effort or DEFAULT_EFFORT}", channels))


def developer_text(instructions: str | None, tools: Sequence[dict[str, Any]] = ()) -> str:
    """A developer message: instructions, when they are given, and the functions.

    Args:
        tools: tools in chat's form.

    Raises:
        BadRequest: a tool's schema is nested too deeply.
    """
    sections = [] if instructions is None else ["# Instructions", instructions]
    if tools:
        sections.append(_tools_text([tool["function"] for tool in tools]))
    return "\n\n".join(sections)


def _tools_text(functions: Sequence[dict[str, Any]]) -> str:
    lines = [f"# Tools\n\n## {NAMESPACE}\n", f"namespace {NAMESPACE} {{\n"]
    for function in functions:
        lines += [f"// {line}" for line in _lines(function.get("description") or "")]
        parameters = function.get("parameters")
        if parameters is not None and _deeper(parameters, _DEEPEST):
            raise BadRequest(f"The parameters of the tool {function['name'][:100]!r} are nested too deeply.", "tools")
        arguments = "" if parameters is None else f"_: {typescript(parameters)}"
        lines.append(f"type {function['name']} = ({arguments}) => any;\n")
    return "\n".join([*lines, f"}} // namespace {NAMESPACE}"])


def _lines(text: str) -> list[str]:
    """Lines of a text; line feeds part and end them, a carriage return before one belongs to it."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested deeper than `levels`."""
    if not isinstance(value, (dict, list)):
        return False
    entries = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper(entry, levels - 1) for entry in entries)
