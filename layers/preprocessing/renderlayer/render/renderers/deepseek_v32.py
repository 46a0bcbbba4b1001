"""Prompts of DeepSeek V3.2 (wire.md 3.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from renderlayer.errors import BadRequest
from renderlayer.render.renderers import dsml
from renderlayer.render.renderers.prompt_encoder import PromptEncoder

_CALLS = "function_calls"
_TOOLS = f"""\
## Tools

You have access to a set of tools you can use to answer the user's question.
You can invoke functions by writing a "<{dsml.DSML}{_CALLS}>" block like the following as part of your reply to the \
user:
{dsml.example(_CALLS, "FUNCTION")}
String and scalar parameters should be specified as is without any escaping or quotes, while lists and objects should \
use JSON format. The "string" attribute should be set to "true" for string type parameters and "false" for other \
types (numbers, booleans, arrays, objects).

If the thinking_mode is enabled, then after function results you should strongly consider outputting a thinking \
block. Here is an example:

<{dsml.DSML}{_CALLS}>
...
</{dsml.DSML}{_CALLS}>

<function_results>
...
</function_results>

{dsml.THINK}...thinking about results{dsml.END_THINK}

Here are the functions available in JSONSchema format:
<functions>
%s
</functions>
"""


class DeepSeekV32(PromptEncoder):
    """Text of a conversation; `add_generation_prompt` and `continue_final_message` mean nothing to it.

    A turn of the assistant is opened by what comes before it: a user's message, or the last result of a tool.
    """

    content_format: ClassVar[str] = "string"

    def render(
        self,
        conversation: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        documents: list[Any] | None,
        kwargs: Mapping[str, Any],
    ) -> str:
        """The prompt's text; see `PromptEncoder.render`."""
        thinking = bool(kwargs.get("thinking") or kwargs.get("enable_thinking"))
        messages = _with_tools(conversation, tools)
        if thinking and messages[-1]["role"] == "user":
            last = len(messages) - 1
            messages = [row for i, row in enumerate(messages) if row["role"] != "developer" or i == last]
        return dsml.BEGIN + "".join(_Writer(messages, thinking).pieces())


class _Writer:
    """Writes one message after another."""

    def __init__(self, messages: list[dict[str, Any]], thinking: bool) -> None:
        self.messages = messages
        self.thinking = thinking
        self.last_user = dsml.last_user([message["role"] for message in messages])
        self.open: list[dict[str, Any]] = []
        """Calls of the assistant's last message that wait for a result."""
        self.results = 0

    def pieces(self) -> list[str]:
        return [self._message(index, message) for index, message in enumerate(self.messages)]

    def _message(self, index: int, message: dict[str, Any]) -> str:
        role, content = message["role"], message["content"]
        if role == "tool":
            return self._result(index, content)
        self.open, self.results = message.get("tool_calls") or [], 0
        tools = message.get("tools")
        explained = "\n\n" + _TOOLS % dsml.schemas(tools) if tools else ""
        if role == "system":
            return f"{content}{explained}"
        if role == "developer":
            if not content:
                raise BadRequest("A developer message must not be empty.", "messages")
            content = f"{explained}\n\n# The user's message is: {content}"
        if role in ("developer", "user"):
            return f"{dsml.USER}{content}{dsml.ASSISTANT}{self._opened(index == self.last_user)}"
        if role == "assistant":
            return self._reasoning(index, message) + self._answer(content) + dsml.END
        raise BadRequest(f"Unknown role: {role}", "messages")

    def _answer(self, content: str) -> str:
        return content + (dsml.calls(self.open, _CALLS) if self.open else "")

    def _reasoning(self, index: int, message: dict[str, Any]) -> str:
        if not self.thinking or index < self.last_user:
            return ""
        reasoning = message.get("reasoning")
        if not reasoning and not self.open:
            raise BadRequest(
                "With thinking, an assistant message behind the last user message needs reasoning or tool calls.",
                "messages",
            )
        return f"{reasoning or ''}{dsml.END_THINK}"

    def _result(self, index: int, content: str) -> str:
        self.results += 1
        if self.results > len(self.open):
            raise BadRequest("No tool calls but found tool output", "messages")
        first, last = self.results == 1, self.results == len(self.open)
        end = f"\n</function_results>\n\n{self._opened(index >= self.last_user)}" if last else ""
        return ("\n\n<function_results>" if first else "") + f"\n<result>{content}</result>" + end

    def _opened(self, current: bool) -> str:
        """What opens the assistant's turn: a think block, or the mark that there is none."""
        return dsml.THINK if current and self.thinking else dsml.END_THINK


def _with_tools(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """The request's tools on the leading system or developer message, or on a system message of their own."""
    if not tools:
        return messages
    if messages[0]["role"] in ("system", "developer"):
        return [{**messages[0], "tools": tools}, *messages[1:]]
    return [{"role": "system", "content": "", "tools": tools}, *messages]
