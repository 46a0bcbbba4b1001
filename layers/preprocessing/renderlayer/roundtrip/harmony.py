"""Turns of gpt-oss, whose prompts are written token by token."""

from __future__ import annotations

from functools import cached_property

from renderlayer.errors import RenderLayerError
from renderlayer.render.dialect import CHAT
from renderlayer.render.renderers import open_renderer
from renderlayer.render.types import ChatParams, MediaOptions, TokenizeOptions
from renderlayer.roundtrip.conversations import TOOLS, USER, Said
from renderlayer.roundtrip.turns import Json, Turn, Writer, message


class HarmonyWriter(Writer):
    """Takes the turn out of the prompt that follows it: both prompts end with the header of an answer."""

    def turn(self, said: Said) -> Turn | str:
        try:
            after = self._ids([USER, message(said, False)])
        except RenderLayerError as error:
            return error.message
        before = self._before
        start = len(before) - 1 - before[::-1].index(self._start)
        ids = after[len(before) : len(after) - (len(before) - start)]
        return Turn(said, self.server.model.tokenizer.decode(ids, False), "", "", {}, ids, before)

    def history(self, said: Said, kwargs: Json) -> str:
        return self.server.model.tokenizer.decode(self._ids([USER, message(said, False)]), False)

    @cached_property
    def tools(self) -> list[Json]:
        return TOOLS

    @cached_property
    def stop(self) -> str:
        return ""

    @cached_property
    def _start(self) -> int:
        return self.server.model.vocabulary.added["<|start|>"]

    @cached_property
    def _before(self) -> list[int]:
        return self._ids([USER])

    def _ids(self, messages: list[Json]) -> list[int]:
        renderer = self.server.derived(open_renderer)
        assert renderer is not None
        options = TokenizeOptions(add_special_tokens=False)
        params = ChatParams(messages, TOOLS, {}, options, MediaOptions(), None, False, CHAT)
        return list(renderer.prompt(params).token_ids)
