"""An assistant's turn as the model would write it: what the renderer of prompts puts into the history, taken out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from renderlayer.errors import RenderLayerError
from renderlayer.parsers.registry import marker_suffix
from renderlayer.render.conversation import conversation
from renderlayer.render.renderers import open_prompt_encoder
from renderlayer.roundtrip.conversations import PLAINER_TOOLS, TOOLS, USER, Said
from renderlayer.roundtrip.markup import all_markers, thoughts
from renderlayer.served_model import ServedModel

Json = dict[str, Any]

SWITCHES: tuple[Json, ...] = (
    {},
    {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    {"enable_thinking": False, "thinking": False},
)
"""Template kwargs under which a prompt is tried that the history continues."""
_SHOWN = 100
_UNITS = re.compile(r"<[^<>\s]+>|\[[^][\s]+\]")
_SPECIAL = re.compile(r"<[|｜][^<>\s]+>\s*$")


@dataclass(frozen=True)
class Turn:
    """A turn and the prompt before it.

    Attributes:
        said: what is in it.
        text: what the model writes, without its stop token.
        stop: the stop token's text, or "".
        prompt: the prompt's text.
        kwargs: the template kwargs of the prompt.
        ids, prompt_ids: token ids, of families whose prompts are no text.
    """

    said: Said
    text: str
    stop: str
    prompt: str
    kwargs: Json
    ids: Sequence[int] = ()
    prompt_ids: Sequence[int] = ()


def message(said: Said, kimi_ids: bool, silence: str | None = None) -> Json:
    """The turn as a message of a request; `silence` is its content when it says nothing."""
    found: Json = {"role": "assistant", "content": said.content or silence}
    if said.reasoning:
        found["reasoning"] = said.reasoning
    if said.calls:
        found["tool_calls"] = [
            {
                "id": f"functions.{name}:{index}" if kimi_ids else f"call{index:05}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for index, (name, arguments) in enumerate(said.calls)
        ]
    return found


@dataclass(frozen=True)
class Writer:
    """Writes turns with the server's chat template, or with the program that stands for it.

    Attributes:
        thinks: tells of a prompt's text and its kwargs whether the parser takes what follows for reasoning.
        thought: an empty thought, as the model writes it; what it says without thinking follows it where the history
            leaves thoughts out.
    """

    server: ServedModel
    thinks: Callable[[str, Json], bool] = lambda prompt, kwargs: False
    thought: tuple[str, str] = ("", "")

    def turn(self, said: Said) -> Turn | str:
        """The turn; where the template refuses it, or does not let it follow a prompt, the reason."""
        for way in (self._continued, self._rewritten, self._shortened):
            turns = [turn for kwargs in self.switches if (turn := way(said, kwargs))]
            thought = next((turn for turn in turns if self._is_thought(turn)), None)
            spoken = thought or next((turn for turn in turns if self._is_spoken(turn)), None)
            if spoken:
                return spoken
            if turns:
                return self._after_thought(turns[0])
        try:
            self._render([USER, message(said, *self._form)], {}, generate=False)
        except RenderLayerError as error:
            return error.message.splitlines()[0][:_SHOWN]
        return "the history does not go on where the prompt ends"

    def _is_thought(self, turn: Turn) -> bool:
        """Whether the reasoning is written."""
        return bool(turn.said.reasoning) and turn.said.reasoning.strip() in turn.text

    def _is_spoken(self, turn: Turn) -> bool:
        """Whether what is no reasoning stands where the parser takes it for none."""
        said, closer = turn.said, self.thought[1]
        before = turn.text.partition(said.calls[0][0])[0] if said.calls else turn.text
        return closer in before or not self.thinks(turn.prompt, turn.kwargs)

    def _after_thought(self, turn: Turn) -> Turn:
        opener, closer = self.thought
        opened = turn.prompt.rstrip().endswith(opener)
        return replace(turn, text=(closer if opened else opener + closer) + turn.text)

    @cached_property
    def tools(self) -> list[Json]:
        """The tools that every conversation has.

        Raises:
            RenderLayerError: the template refuses tools.
        """
        try:
            self._render([USER], {}, generate=True, tools=TOOLS)
        except RenderLayerError:
            self._render([USER], {}, generate=True, tools=PLAINER_TOOLS)
            return PLAINER_TOOLS
        return TOOLS

    def history(self, said: Said, kwargs: Json) -> str:
        """The conversation that ends with the turn; "" where the template refuses it."""
        try:
            return self._render([USER, message(said, *self._form)], kwargs, generate=False)
        except RenderLayerError:
            return ""

    def _continued(self, said: Said, kwargs: Json) -> Turn | None:
        """The turn where the history begins with the prompt."""
        prompt, full = self._prompt(kwargs), self.history(said, kwargs)
        if not full or not full.startswith(prompt):
            return None
        return self._turn(said, full[len(prompt) :], kwargs)

    def _rewritten(self, said: Said, kwargs: Json) -> Turn | None:
        """The turn where the history lacks the reasoning with which the prompt ends, empty or open.

        An open one the model has to close.
        """
        prompt, full = self._prompt(kwargs), self.history(said, kwargs)
        for opener, closer in thoughts(marker_suffix(self.server.model.vocabulary)).items():
            base, found, inside = prompt.rpartition(opener)
            if found and full.startswith(base) and not inside.replace(closer, "").strip():
                rest = full[len(base) :]
                again = rest.removeprefix(opener)
                if closer not in inside:
                    return self._turn(said, again if again != rest else closer + rest, kwargs)
                if again == rest:
                    return self._turn(said, rest, kwargs)
        return None

    def _shortened(self, said: Said, kwargs: Json) -> Turn | None:
        """The turn where the history lacks the line with which the prompt ends."""
        prompt, full = self._prompt(kwargs), self.history(said, kwargs)
        base = prompt.rstrip("\n").rpartition("\n")[0] + "\n"
        rest = full[len(base) :]
        return self._turn(said, rest, kwargs) if full.startswith(base) and USER["content"] not in rest else None

    def _turn(self, said: Said, text: str, kwargs: Json) -> Turn:
        text, stop = self._stopped(text, said)
        return Turn(said, text, stop, self._prompt(kwargs), kwargs)

    def _stopped(self, text: str, said: Said) -> tuple[str, str]:
        """The text up to the stop token, and that token: what ends every turn, or a special one that ends this."""
        stop = ""
        called = text.rfind(said.calls[-1][0]) if said.calls else 0
        end = text.find(self.stop, max(called, 0)) if self.stop else -1
        if end >= 0:
            text, stop = text[:end], self.stop
        while (unit := _SPECIAL.search(text)) and unit.group().strip() not in all_markers():
            text, stop = text[: unit.start()], unit.group().strip()
        return text, stop

    @cached_property
    def switches(self) -> list[Json]:
        """The template kwargs that the template takes."""
        taken = [SWITCHES[0]]
        for kwargs in SWITCHES[1:]:
            with suppress(RenderLayerError):
                self._prompt(kwargs)
                taken.append(kwargs)
        return taken

    @cached_property
    def stop(self) -> str:
        """The first text behind content that is no marker of a parser."""
        units = (unit.group() for unit in _UNITS.finditer(self._tail))
        return next((unit for unit in units if unit not in all_markers()), self._tail)

    @cached_property
    def _tail(self) -> str:
        """What the history has behind content."""
        return self.history(Said("", content="omega"), {}).rpartition("omega")[2].strip()

    @cached_property
    def _form(self) -> tuple[bool, str | None]:
        """Whether calls are named by their ids alone, as Kimi's are; and what stands for no content."""
        said = Said("", calls=(("ping", {}),))
        for kimi, silence in ((False, None), (True, None), (False, "")):
            with suppress(RenderLayerError):
                full = self._render([USER, message(said, kimi, silence)], {}, generate=False)
                if "ping" in full.rpartition(USER["content"])[2]:
                    return kimi, silence
        return False, None

    def _prompt(self, kwargs: Json) -> str:
        key = str(kwargs)
        if key not in self._prompts:
            self._prompts[key] = self._render([USER], kwargs, generate=True)
        return self._prompts[key]

    @cached_property
    def _prompts(self) -> dict[str, str]:
        return {}

    def _render(
        self, messages: Sequence[Json], kwargs: Mapping[str, Any], generate: bool, tools: list[Json] | None = None
    ) -> str:
        server = self.server
        template = server.derived(open_prompt_encoder) or server.model.templates.resolve(None, True)
        seen = conversation(messages, server, template)
        return template.render(
            seen.messages, self.tools if tools is None else tools, None, {**kwargs, "add_generation_prompt": generate}
        )
