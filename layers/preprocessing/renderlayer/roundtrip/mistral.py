"""Turns of models whose prompts mistral-common writes, token by token."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property

from renderlayer.errors import RenderLayerError
from renderlayer.render.dialect import CHAT
from renderlayer.render.renderers import open_renderer
from renderlayer.render.types import ChatParams, MediaOptions, TokenizeOptions
from renderlayer.roundtrip.conversations import PLAINER_TOOLS, TOOLS, USER, Said
from renderlayer.roundtrip.turns import Json, Turn, Writer, message

_ASKED, _END = "[/INST]", "</s>"
"""What stands before an answer, and behind it: tokens that no text can spell."""


class MistralWriter(Writer):
    """Takes the turn out of the prompt that follows it, which ends with the results of its calls, or a question."""

    def turn(self, said: Said) -> Turn | str:
        try:
            ids = self._answer(said)
        except RenderLayerError as error:
            return error.message.splitlines()[0]
        text = self.server.model.tokenizer.decode(ids, False)
        return Turn(said, text, _END, "", {}, ids, self._before)

    def history(self, said: Said, kwargs: Json) -> str:
        with suppress(RenderLayerError):
            return self.server.model.tokenizer.decode(self._answer(said), False)
        return ""

    @cached_property
    def tools(self) -> list[Json]:
        try:
            self._ids([USER], TOOLS)
        except RenderLayerError:
            self._ids([USER], PLAINER_TOOLS)
            return PLAINER_TOOLS
        return TOOLS

    @cached_property
    def stop(self) -> str:
        return _END

    @cached_property
    def _before(self) -> list[int]:
        return self._ids([USER], self.tools)

    def _answer(self, said: Said) -> list[int]:
        """The ids of the turn, without the token that ends it."""
        answer = message(said, False)
        results = [
            {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": "ok"}
            for call in answer.get("tool_calls", ())
        ]
        known = self.server.model.vocabulary.added
        ids = self._ids([USER, answer, *(results or [USER])], self.tools)
        start = ids.index(known[_ASKED]) + 1
        return ids[start : ids.index(known[_END], start)]

    def _ids(self, messages: list[Json], tools: list[Json]) -> list[int]:
        renderer = self.server.derived(open_renderer)
        assert renderer is not None
        kwargs, options = {"add_generation_prompt": True}, TokenizeOptions(add_special_tokens=False)
        params = ChatParams(messages, tools, kwargs, options, MediaOptions(), None, False, CHAT)
        return list(renderer.prompt(params).token_ids)
