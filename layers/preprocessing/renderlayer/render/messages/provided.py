"""What Anthropic's own tools and files leave in a conversation, as far as a model can read it.

Searches and other tools that a provider runs become calls and their results; documents and search results become text.
What holds no text is left out, with a remark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from renderlayer.request_context import remark

Block = dict[str, Any]

CALLS = ("server_tool_use", "mcp_tool_use")
RESULTS = (
    *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "mcp_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result"),
)
_UNREADABLE = ("container_upload", "compaction")
# Keys of a result that are worth reading, in this order.
_TOLD = ("title", "url", "text", "stdout", "stderr", "return_code", "error_code", "tool_name")


def call_of(block: Block) -> dict[str, Any]:
    """A provider's call as the call of a function."""
    arguments = json.dumps(block.get("input") or {})
    function = {"name": str(block.get("name") or ""), "arguments": arguments}
    return {"id": str(block.get("id") or "call_0"), "type": "function", "function": function}


def result_text(block: Block) -> str:
    """What a provider's tool answered: the texts in it, a line each; what is encrypted is not among them."""
    return "\n".join(_texts(block.get("content")))


def text_of(block: Block) -> str | None:
    """The text of a document or a search result; None of any other block."""
    kind = block.get("type")
    if kind in _UNREADABLE:
        remark(f"blocks of type {kind!r} are left out")
    if kind not in ("document", "search_result"):
        return None
    source = block.get("source")
    body = "\n".join(_texts(block.get("content") if kind == "search_result" else source))
    if not body:
        remark("documents without text, such as PDF files, are left out")
        return None
    where = source if kind == "search_result" and isinstance(source, str) else None
    head = [line for line in (block.get("title"), where, block.get("context")) if isinstance(line, str) and line]
    return "\n".join([*head, body])


def _texts(value: Any) -> Iterator[str]:
    """The readable texts in blocks, one after another."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict) and value.get("type") == "text" and isinstance(value.get("data"), str):
        yield value["data"]
    elif isinstance(value, dict) and value.get("type") not in ("base64", "url", "file"):
        yield from (str(value[key]) for key in _TOLD if isinstance(value.get(key), (str, int)))
        for key in ("content", "tool_references"):
            if not isinstance(value.get(key), str):
                yield from _texts(value.get(key))
