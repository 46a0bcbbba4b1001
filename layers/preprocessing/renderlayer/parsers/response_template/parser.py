"""The parsers `hf` and `beam`: one machine for both halves, by the tokenizer's response template (wire.md 7.1)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from renderlayer.errors import ConfigurationError
from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.events import Conversation, Event, ParserNames, Piece, State
from renderlayer.parsers.core.markers import SpecialTokenMap, Vocabulary
from renderlayer.parsers.core.resumable import bad_state
from renderlayer.parsers.core.tool_machine import ToolTypes
from renderlayer.parsers.parser import Parser
from renderlayer.parsers.response_template.delimiters import Watch
from renderlayer.parsers.response_template.machine import TemplateMachine
from renderlayer.parsers.response_template.patterns import PatternError
from renderlayer.parsers.response_template.template import Beginning, Template, read_template
from renderlayer.parsers.values.schema import checked, digest

_WINDOW = 512


def open_template(names: ParserNames, given: Mapping[str, Any]) -> Template:
    """Read the model's template for these parsers.

    Raises:
        ConfigurationError: there is none, it cannot be served, or it lacks the field that a parser reads.
    """
    name = names.tool or names.reasoning
    if not given:
        raise ConfigurationError(
            f"The {name} parser requires `response_template` metadata in the tokenizer configuration"
        )
    try:
        template = read_template(given)
    except PatternError as error:
        raise ConfigurationError(f"Invalid response_template metadata: {error}") from None
    if names.reasoning and template.field("thinking") is None:
        raise ConfigurationError(f"--reasoning-parser {name} requires a response_template with a thinking field")
    if names.tool and template.field("tool_calls") is None:
        raise ConfigurationError(f"--tool-call-parser {name} requires a response_template with a tool_calls field")
    return template


class TemplateParser(Parser):
    """Reads answers by a response template."""

    def __init__(self, names: ParserNames, template: Template, vocabulary: Vocabulary) -> None:
        super().__init__(names, strip=False)
        self.template = template
        self._vocabulary = vocabulary
        self._alphabet = SpecialTokenMap(vocabulary, ())
        self._anchor = Watch([template.anchor])

    def start(self, conversation: Conversation) -> State:
        out = Emitter(conversation.seed or uuid.uuid4().hex, conversation.history_tool_calls)
        calls = self._looks_for_calls(conversation)
        types = digest(conversation.tools) if calls else {}
        machine = self._machine(out, types, calls)
        machine.read_prompt(self._message_start(conversation.prompt_token_ids or ()))
        out = Emitter(out.seed, out.first)
        return self._dumped(calls, types, out, machine)

    def feed(self, state: State, pieces: Sequence[Piece]) -> tuple[list[Event], State]:
        calls, types, out, machine = self._loaded(state)
        machine.feed("".join([text for _, text in pieces]))
        return out.take(), self._dumped(calls, types, out, machine)

    def finish(self, state: State) -> list[Event]:
        _, _, out, machine = self._loaded(state)
        machine.feed("", final=True)
        return out.take()

    def reasoning_ended(self, prompt_token_ids: Sequence[int], kwargs: Mapping[str, Any]) -> bool | None:
        thinking = self.template.field("thinking")
        if thinking is None or thinking.repeats:
            return thinking is None
        machine = self._machine(Emitter(), {}, calls=False)
        machine.read_prompt(self._message_start(prompt_token_ids))
        machine.feed("\0")  # decides what the prompt's end leaves open
        if machine.thought:
            return True
        if machine.phase == "inside" and machine.field:
            return machine.field.kind != "thinking"
        return thinking.opens is not None and not kwargs.get("enable_thinking", True)

    def beginning(self, prompt_token_ids: Sequence[int]) -> Beginning:
        """What the prompt has written of the answer."""
        written = self._message_start(prompt_token_ids)
        machine = self._machine(Emitter(), {}, calls=False)
        machine.read_prompt(written)
        kind = machine.field.kind if machine.phase == "inside" and machine.field else ""
        return Beginning(self.template, not written, kind)

    def _looks_for_calls(self, conversation: Conversation) -> bool:
        """Required and named choices are read like automatic ones (wire.md 7.2)."""
        choice = conversation.tool_choice
        if self.names.tool is None or choice == "none":
            return False
        return choice is not None or bool(conversation.tools)

    def _message_start(self, prompt_token_ids: Sequence[int]) -> str:
        """The prompt's text behind its last anchor; all of it when there is none."""
        size = _WINDOW
        while True:
            tail = prompt_token_ids[-size:]
            text = b"".join(map(self._vocabulary.token_bytes, tail)).decode("utf-8", "replace")
            end = self._last_anchor(text)
            if end >= 0 or len(tail) == len(prompt_token_ids):
                return text[max(end, 0) :]
            size *= 4

    def _last_anchor(self, text: str) -> int:
        """Where the last anchor ends; -1: there is none."""
        end, found = -1, self._anchor.find(text, 0, final=True)
        while not isinstance(found, int):
            end = found.match.end()
            found = self._anchor.find(text, max(end, found.match.start() + 1), final=True)
        return end

    def _machine(self, out: Emitter, types: ToolTypes, calls: bool) -> TemplateMachine:
        reasons = self.names.reasoning is not None
        return TemplateMachine(self.template, out, self._alphabet, types, reasons=reasons, calls=calls)

    def _dumped(self, calls: bool, types: ToolTypes, out: Emitter, machine: TemplateMachine) -> State:
        return self._stamped({"native": calls, "types": types, "calls": out.dump(), "template": machine.dump()})

    def _loaded(self, state: State) -> tuple[bool, ToolTypes, Emitter, TemplateMachine]:
        self._checked(state)
        calls = state.get("native")
        if type(calls) is not bool:
            raise bad_state()
        types = checked(state.get("types"))
        out = Emitter()
        out.load(state.get("calls"))
        machine = self._machine(out, types, calls)
        machine.load(state.get("template"))
        return calls, types, out, machine
