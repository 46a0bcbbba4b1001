"""Prompts of DeepSeek V4 (wire.md 3.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from renderlayer.errors import BadRequest
from renderlayer.render.renderers import dsml
from renderlayer.render.renderers.prompt_encoder import PromptEncoder

_CALLS = "tool_calls"
_TOOLS = f"""\
## Tools

You have access to a set of tools to help answer the user's question. You can invoke tools by writing a \
"<{dsml.DSML}{_CALLS}>" block like the following:

{dsml.example(_CALLS, "TOOL")}
String parameters should be specified as is and set `string="true"`. For all other types (numbers, booleans, arrays, \
objects), pass the value in JSON format and set `string="false"`.

If thinking_mode is enabled (triggered by {dsml.THINK}), you MUST output your complete reasoning inside \
{dsml.THINK}...{dsml.END_THINK} BEFORE any tool calls or final response.

Otherwise, output directly after {dsml.END_THINK} with tool calls or final response.

### Available Tool Schemas

%s

You MUST strictly follow the above defined tool name and parameter schemas to invoke tool calls.
"""
_EFFORTS = {
    "low": "",
    "high": """\
Reasoning Effort: Absolute maximum with no shortcuts permitted.
You MUST be very thorough in your thinking and comprehensively decompose the problem to resolve the root cause, \
rigorously stress-testing your logic against all potential paths, edge cases, and adversarial scenarios.
Explicitly write out your entire deliberation process, documenting every intermediate step, considered alternative, \
and rejected hypothesis to ensure absolutely no assumption is left unchecked.

""",
    "max": """\
Reasoning Effort: Beyond maximum — exhaustive, relentless, and uncompromising.
You MUST reason with the utmost depth and rigor, leaving absolutely nothing to chance: exhaustively decompose the \
problem into its most fundamental components, trace every causal chain to its root, and resolve the underlying cause \
rather than any surface symptom.
Do not stop reasoning until you have independently verified the solution from multiple angles and are certain that no \
assumption remains unchecked and no error remains undiscovered.

""",
}
_LIKE_LOW = ("low", "minimal", "medium")
_TASKS = ("action", "query", "authority", "domain", "title", "read_url")
_ROLES = ("system", "developer", "assistant", "latest_reminder")


class DeepSeekV4(PromptEncoder):
    """Text of a conversation; `add_generation_prompt` and `continue_final_message` mean nothing to it."""

    content_format: ClassVar[str] = "openai"
    infill: ClassVar[tuple[str, str, str] | None] = ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>")

    def render(
        self,
        conversation: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        documents: list[Any] | None,
        kwargs: Mapping[str, Any],
    ) -> str:
        """The prompt's text; see `PromptEncoder.render`."""
        thinking, effort = _thinking(kwargs)
        turns = _turns(_with_tools(conversation, tools))
        drops = bool(kwargs.get("drop_thinking", True)) and not any(turn.tools for turn in turns)
        if thinking and drops:
            last = dsml.last_user([turn.role for turn in turns])
            turns = [turn for i, turn in enumerate(turns) if turn.role != "developer" or i >= last]
        pieces = _Writer(turns, thinking, drops).pieces()
        return dsml.BEGIN + effort + "".join(pieces)


@dataclass
class _Block:
    """A piece of a user's turn: its own text, or the result of a call."""

    text: str
    call_id: str | None = None


@dataclass
class _Turn:
    """What is written in one go: a message, or the user's messages and the results of tools that follow each other."""

    role: str
    text: str = ""
    blocks: list[_Block] = field(default_factory=list)
    tools: list[dict[str, Any]] | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    reasoning: str = ""
    task: str | None = None


class _Writer:
    """Writes one turn after another."""

    def __init__(self, turns: list[_Turn], thinking: bool, drops: bool) -> None:
        self.turns = turns
        self.thinking = thinking
        self.drops = drops
        self.last_user = dsml.last_user([turn.role for turn in turns])

    def pieces(self) -> list[str]:
        return [self._turn(index, turn) + self._transition(index, turn) for index, turn in enumerate(self.turns)]

    def _turn(self, index: int, turn: _Turn) -> str:
        explained = "\n\n" + _TOOLS % dsml.schemas(turn.tools) if turn.tools else ""
        if turn.role == "system":
            return turn.text + explained
        if turn.role == "developer":
            if not turn.text:
                raise BadRequest("A developer message must not be empty.", "messages")
            return dsml.USER + turn.text + explained
        if turn.role == "user":
            return dsml.USER + "\n\n".join(block.text for block in turn.blocks)
        if turn.role == "latest_reminder":
            return "<｜latest_reminder｜>" + turn.text
        called = dsml.calls(turn.calls, _CALLS) if turn.calls else ""
        return self._reasoning(index, turn) + turn.text + called + dsml.END

    def _reasoning(self, index: int, turn: _Turn) -> str:
        solves_task = index > 0 and self.turns[index - 1].task is not None
        if not self.thinking or solves_task or (self.drops and index <= self.last_user):
            return ""
        return turn.reasoning + dsml.END_THINK

    def _transition(self, index: int, turn: _Turn) -> str:
        """What opens the assistant's turn, where it comes next."""
        following = self.turns[index + 1].role if index + 1 < len(self.turns) else "assistant"
        if following not in ("assistant", "latest_reminder"):
            return ""
        if turn.task == "action":
            return f"{dsml.ASSISTANT}{dsml.THINK if self.thinking else dsml.END_THINK}<｜action｜>"
        if turn.task is not None:
            return f"<｜{turn.task}｜>"
        if turn.role not in ("user", "developer") and (turn.role != "system" or following != "assistant"):
            return ""
        thinks = self.thinking and (not self.drops or index >= self.last_user)
        return dsml.ASSISTANT + (dsml.THINK if thinks else dsml.END_THINK)


def _thinking(kwargs: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether the model is to think, and what tells it how much. It thinks, and much, unless told otherwise."""
    named = [bool(kwargs[key]) for key in ("thinking", "enable_thinking") if key in kwargs]
    effort = kwargs.get("reasoning_effort")
    if effort == "none" or (named and not any(named)):
        return False, ""
    if effort in _LIKE_LOW:
        return True, _EFFORTS["low"]
    return True, _EFFORTS["max" if effort == "max" else "high"]


def _with_tools(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """The request's tools on the first system message, wherever it is, or on one of their own at the front."""
    if not tools:
        return messages
    first = next((i for i, message in enumerate(messages) if message["role"] == "system"), None)
    if first is None:
        return [{"role": "system", "content": "", "tools": tools}, *messages]
    return [*messages[:first], {**messages[first], "tools": tools}, *messages[first + 1 :]]


def _turns(messages: Sequence[dict[str, Any]]) -> list[_Turn]:
    """Turns; results of tools belong to the user, in the order of the calls that they answer."""
    turns: list[_Turn] = []
    order: dict[str, int] = {}
    for message in messages:
        turn = _turn(message)
        if turn.calls:
            order = {call["id"]: index for index, call in enumerate(turn.calls)}
        before = turns[-1] if turns else None
        if before is not None and _joins(turn, before):
            before.blocks += turn.blocks
            _sort_results(before.blocks, order)
        else:
            turns.append(turn)
    return turns


def _joins(turn: _Turn, before: _Turn) -> bool:
    """Whether a turn goes on with the user's turn before it; a task ends one for all but results of tools."""
    is_text = bool(turn.blocks) and turn.blocks[0].call_id is None
    return turn.role == before.role == "user" and not (is_text and before.task is not None)


def _turn(message: dict[str, Any]) -> _Turn:
    """One message as a turn of its own."""
    role, text, task = message["role"], _text(message["content"]), message.get("task")
    if task is not None and task not in _TASKS:
        raise BadRequest(f"Invalid task: {task!r}. Valid tasks are: {', '.join(_TASKS)}.", "messages")
    if role == "tool":
        return _Turn("user", blocks=[_Block(f"<tool_result>{text}</tool_result>", message.get("tool_call_id") or "")])
    if role == "user":
        return _Turn("user", blocks=[_Block(text)], task=task)
    if role not in _ROLES:
        raise BadRequest(f"Unknown role: {role}", "messages")
    turn = _Turn(role, text, tools=message.get("tools"), task=task)
    turn.calls = message.get("tool_calls") or []
    turn.reasoning = message.get("reasoning") or ""
    return turn


def _sort_results(blocks: list[_Block], order: dict[str, int]) -> None:
    """Put the results of tools into the order of their calls; texts keep their places."""
    places = [index for index, block in enumerate(blocks) if block.call_id is not None]
    results = sorted((blocks[index] for index in places), key=lambda block: order.get(block.call_id or "", 0))
    for index, block in zip(places, results, strict=True):
        blocks[index] = block


def _text(content: str | list[Any]) -> str:
    """A message's content as one text; what the family cannot show is named."""
    if isinstance(content, str):
        return content
    return "\n\n".join(
        part["text"] if part.get("type") == "text" else f"[Unsupported {part.get('type')}]" for part in content
    )
