"""The parser of a pair of formats: pieces in, events out, and the state between (see the package's docstring)."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from renderlayer.parsers.core.emitter import Emitter, IdForm
from renderlayer.parsers.core.events import (
    Answer,
    Call,
    CallArguments,
    CallStart,
    Content,
    Conversation,
    Event,
    ParserNames,
    Piece,
    State,
)
from renderlayer.parsers.core.markers import SpecialTokenMap, Vocabulary
from renderlayer.parsers.core.message_frames import MessageFormat, MessageReasoner
from renderlayer.parsers.core.resumable import bad_state, other_version
from renderlayer.parsers.core.tool_machine import PassMachine, ToolFormat, ToolMachine, ToolTypes
from renderlayer.parsers.reasoning.reasoner import Reasoner
from renderlayer.parsers.reasoning.reasoning_format import ReasoningFormat
from renderlayer.parsers.tool_calls.forced import NamedMachine, RequiredMachine
from renderlayer.parsers.values.schema import checked, digest, inputs

_VERSION = 3

Mode = Literal["pass", "native", "named", "required"]


class Parser(ABC):
    """What `open_parser` gives: the seam, and what all parsers do alike, whatever their machine."""

    def __init__(self, names: ParserNames, strip: bool) -> None:
        self.names = names
        self._label = f"{names.tool or ''}+{names.reasoning or ''}"
        self._strip = strip

    @abstractmethod
    def start(self, conversation: Conversation) -> State:
        """The state before the first piece."""

    @abstractmethod
    def feed(self, state: State, pieces: Sequence[Piece]) -> tuple[list[Event], State]:
        """Take more pieces.

        Raises:
            BadRequest: the state was not made by this parser.
        """

    @abstractmethod
    def finish(self, state: State) -> list[Event]:
        """The events that were held back until the end.

        Raises:
            BadRequest: the state was not made by this parser.
        """

    @abstractmethod
    def reasoning_ended(self, prompt_token_ids: Sequence[int], kwargs: Mapping[str, Any]) -> bool | None:
        """Whether an answer to this prompt begins outside the reasoning; None where nobody can say (wire.md 2.4)."""

    def parse(self, conversation: Conversation, pieces: Sequence[Piece]) -> Answer:
        """Read a whole answer."""
        events, state = self.feed(self.start(conversation), pieces)
        return self.assemble([*events, *self.finish(state)])

    def assemble(self, events: Sequence[Event]) -> Answer:
        """The message that the events make up: white space around calls is no content (wire.md 6.5, 7.2, 7.3)."""
        reasoning: list[str] = []
        content: list[str] = []
        calls: list[Call] = []
        for event in events:
            if isinstance(event, CallStart):
                calls.append(Call(event.id, event.name, ""))
            elif isinstance(event, CallArguments):
                calls[-1].arguments += event.text
            else:
                (content if isinstance(event, Content) else reasoning).append(event.text)
        text = "".join(content)
        if calls and (self._strip or text.isspace()):
            text = text.strip()
        return Answer("".join(reasoning) or None, text or None, calls)

    def keeps_calls(self, conversation: Conversation) -> bool:
        """Whether the calls belong into the answer (wire.md 6.5)."""
        choice = conversation.tool_choice
        if choice == "auto":
            return bool(conversation.tools) and self.names.tool is not None
        return choice == "required" or isinstance(choice, Mapping)

    def _checked(self, state: State) -> State:
        if type(state) is not dict or state.get("parser") != self._label:
            raise bad_state()
        version = state.get("v")
        if version != _VERSION:
            raise other_version(version, _VERSION) if type(version) is int else bad_state()
        return state

    def _stamped(self, state: State) -> State:
        return {"v": _VERSION, "parser": self._label, **state}


class TextParser(Parser):
    """A reasoning format in front of a tool format."""

    def __init__(
        self,
        names: ParserNames,
        tools: ToolFormat | None,
        reasoning: ReasoningFormat | MessageFormat | None,
        vocabulary: Vocabulary,
        id_form: IdForm | None = None,
    ) -> None:
        super().__init__(names, strip=tools is not None and tools.strip)
        self._id_form = id_form or (tools.id_form if tools else "chatcmpl")
        declared = [*(tools.tokens if tools else ()), *(reasoning.declared() if reasoning else ())]
        alone = tools is not None and tools.token_based and reasoning is None
        self._alphabet = SpecialTokenMap(vocabulary, declared, tools.literals() if tools else (), alone)
        self._tools = tools.spelled(self._alphabet) if tools and tools.token_based else tools
        self._reasoning = reasoning.spelled(self._alphabet) if reasoning else None
        self._markers = reasoning
        self._vocabulary = vocabulary

    def start(self, conversation: Conversation) -> State:
        form = self._tools
        out = Emitter(conversation.seed or uuid.uuid4().hex, conversation.history_tool_calls, self._id_form)
        mode = self._mode(conversation)
        types = _types(form, conversation) if form and mode == "native" else None
        machine = self._machine(mode, out, types, conversation.forced_name or "")
        reasoner = self._reasoner(out, machine)
        if reasoner and self._markers:
            kwargs, prompt = conversation.chat_template_kwargs, conversation.prompt_token_ids
            reasoner.phase = self._markers.first_phase(kwargs, prompt, self._vocabulary)
        return self._dumped(mode, types, out, machine, reasoner)

    def feed(self, state: State, pieces: Sequence[Piece]) -> tuple[list[Event], State]:
        mode, types, out, machine, reasoner = self._loaded(state)
        (reasoner or machine).feed(self._alphabet.read(pieces))
        return out.take(), self._dumped(mode, types, out, machine, reasoner)

    def finish(self, state: State) -> list[Event]:
        _, _, out, machine, reasoner = self._loaded(state)
        (reasoner or machine).feed("", final=True)
        return out.take()

    def reasoning_ended(self, prompt_token_ids: Sequence[int], kwargs: Mapping[str, Any]) -> bool | None:
        return self._markers.ended_in(prompt_token_ids, kwargs, self._vocabulary) if self._markers else None

    def _mode(self, conversation: Conversation) -> Mode:
        """How the text outside the reasoning is read (wire.md 7.2)."""
        form, choice = self._tools, conversation.tool_choice
        if form is None:
            return "pass"
        forced: Mode | None = "named" if isinstance(choice, Mapping) else "required" if choice == "required" else None
        if forced:
            return "native" if form.native_when_forced else forced
        return "native" if self.keeps_calls(conversation) else "pass"

    def _machine(self, mode: str, out: Emitter, types: ToolTypes | None, name: str) -> ToolMachine:
        if mode == "named":
            return NamedMachine(out, self._alphabet, name)
        if mode == "required":
            return RequiredMachine(out, self._alphabet)
        if mode == "native" and self._tools:
            return self._tools.machine(out, self._alphabet, types)
        return PassMachine(self._tools or ToolFormat(), out, self._alphabet)

    def _reasoner(self, out: Emitter, machine: ToolMachine) -> Reasoner | MessageReasoner | None:
        if isinstance(self._reasoning, ReasoningFormat):
            return Reasoner(self._reasoning, out, self._alphabet, machine)
        return self._reasoning.machine(out, self._alphabet, machine) if self._reasoning else None

    def _dumped(
        self,
        mode: str,
        types: ToolTypes | None,
        out: Emitter,
        machine: ToolMachine,
        reasoner: Reasoner | MessageReasoner | None,
    ) -> State:
        thinking = reasoner.dump() if reasoner else None
        return self._stamped(
            {"mode": mode, "types": types, "calls": out.dump(), "tools": machine.dump(), "reasoning": thinking}
        )

    def _loaded(
        self, state: State
    ) -> tuple[str, ToolTypes | None, Emitter, ToolMachine, Reasoner | MessageReasoner | None]:
        self._checked(state)
        mode, types = state.get("mode"), state.get("types")
        if mode not in ("pass", "native", "named", "required"):
            raise bad_state()
        if types is not None:
            checked(types)
        out = Emitter(id_form=self._id_form)
        out.load(state.get("calls"))
        machine = self._machine(mode, out, types, "")
        machine.load(state.get("tools"))
        reasoner = self._reasoner(out, machine)
        if reasoner:
            reasoner.load(state.get("reasoning"))
        return mode, types, out, machine, reasoner


def _types(form: ToolFormat, conversation: Conversation) -> ToolTypes | None:
    """What the format has to know of the request's tools."""
    if form.needs_types:
        return digest(conversation.tools, form.needs_strings)
    return (inputs(conversation.tools) or None) if form.needs_inputs else None
