"""What the prompts of DeepSeek's families share: control tokens, and the markup of tools and calls (wire.md 3.7)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

BEGIN, END = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"
USER, ASSISTANT = "<｜User｜>", "<｜Assistant｜>"
THINK, END_THINK = "<think>", "</think>"
DSML = "｜DSML｜"

_EXAMPLE = f"""\
<{DSML}{{block}}>
<{DSML}invoke name="${{tool}}_NAME">
<{DSML}parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</{DSML}parameter>
...
</{DSML}invoke>
<{DSML}invoke name="${{tool}}_NAME2">
...
</{DSML}invoke>
</{DSML}{{block}}>
"""


def example(block: str, tool: str) -> str:
    """Two calls as the explanations of tools show them.

    Args:
        block: name of the element around calls.
        tool: what the family calls a tool, in capitals.
    """
    return _EXAMPLE.format(block=block, tool=tool)


def schemas(tools: Iterable[dict[str, Any]]) -> str:
    """Functions as JSON, one a line."""
    return "\n".join(to_json(tool["function"]) for tool in tools)


def calls(tool_calls: Iterable[dict[str, Any]], block: str) -> str:
    """The calls of an assistant's message, behind its text."""
    invokes = "\n".join(
        f'<{DSML}invoke name="{call["function"]["name"]}">\n{_parameters(call)}\n</{DSML}invoke>' for call in tool_calls
    )
    return f"\n\n<{DSML}{block}>\n{invokes}\n</{DSML}{block}>"


def to_json(value: Any) -> str:
    """JSON as Python writes it, non-ASCII raw."""
    return json.dumps(value, ensure_ascii=False)


def last_user(roles: Sequence[str]) -> int:
    """Index of the last user or developer message, −1 without one."""
    return max((index for index, role in enumerate(roles) if role in ("user", "developer")), default=-1)


def _parameters(call: dict[str, Any]) -> str:
    return "\n".join(
        f'<{DSML}parameter name="{name}" string="{"true" if isinstance(value, str) else "false"}">'
        f"{value if isinstance(value, str) else to_json(value)}</{DSML}parameter>"
        for name, value in call["function"]["arguments"].items()
    )
