"""Harmony, the format of gpt-oss (wire.md 3.8).

Control tokens are put between texts by id; a text never becomes one, whatever it spells. Templates and their kwargs,
truncation and offsets play no part here, and the only limit is that of the output budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.dialect import CHAT
from renderlayer.render.renderers.harmony_messages import (
    ANALYSIS,
    ASSISTANT,
    COMMENTARY,
    DEVELOPER,
    FINAL,
    JSON,
    Message,
    harmony_messages,
    leading_instructions,
)
from renderlayer.render.renderers.harmony_text import developer_text, system_text
from renderlayer.render.renderers.renderer import Renderer
from renderlayer.render.types import ChatParams, Prompt
from renderlayer.served_model import ServedModel

START, CHANNEL, MESSAGE, END, CALL = "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|call|>"
_HEADER_TEXTS = (
    *(ASSISTANT, DEVELOPER, "system", "user", ANALYSIS, COMMENTARY, FINAL),
    *(f" to={ASSISTANT}", f" {JSON}"),
)
_NO_CONTINUATION = (
    "continue_final_message is not taken by harmony models (gpt-oss): an answer that goes on within a message has no "
    "header, by which alone its channel is known. Leave it out, and ask in a message to go on."
)


class HarmonyRenderer(Renderer):
    """Renders for a gpt-oss model."""

    def __init__(self, server: ServedModel) -> None:
        added = server.model.vocabulary.added
        self._ids = {text: added[text] for text in (START, CHANNEL, MESSAGE, END, CALL)}
        self._encode = server.model.tokenizer.encode_plain
        self._known = {text: self._encode(text) for text in _HEADER_TEXTS}
        self._start_date = server.settings.system_start_date
        self._in_system = server.settings.harmony_system_instructions

    def check_template(self, chat_template: str | None, kwargs: dict[str, Any] | None) -> None:
        """Nothing is refused: both are ignored."""

    def prompt(self, params: ChatParams) -> Prompt:
        if params.dialect is CHAT and params.kwargs.get("continue_final_message"):
            raise BadRequest(_NO_CONTINUATION, "continue_final_message")
        instructions, rest = leading_instructions(params.messages)
        tools = params.tools or ()
        moved = instructions if self._in_system else None
        preamble = [Message("system", (system_text(self._date(), params.effort, bool(tools), moved),))]
        instructions = None if self._in_system else instructions
        if instructions or tools:
            preamble.append(Message(DEVELOPER, (developer_text(instructions, tools),)))
        messages = [*preamble, *harmony_messages(rest)]
        token_ids = [token_id for message in messages for token_id in self._message_ids(message)]
        token_ids += [self._ids[START], *self._header_ids(ASSISTANT)]
        return Prompt(token_ids, history_tool_calls=sum(message.is_call for message in messages))

    def _message_ids(self, message: Message) -> Iterator[int]:
        """A call is addressed before the channel, an answer behind it."""
        recipient = f" to={message.recipient}" if message.recipient else ""
        yield self._ids[START]
        yield from self._header_ids(message.author)
        if message.is_call:
            yield from self._header_ids(recipient)
        if message.channel:
            yield self._ids[CHANNEL]
            yield from self._header_ids(message.channel)
        if not message.is_call and recipient:
            yield from self._header_ids(recipient)
        if message.content_type:
            yield from self._header_ids(f" {message.content_type}")
        yield self._ids[MESSAGE]
        for text in message.texts:
            yield from self._encode(text)
        yield self._ids[CALL if message.is_call else END]

    def _header_ids(self, text: str) -> Sequence[int]:
        ids = self._known.get(text)
        return self._encode(text) if ids is None else ids

    def _date(self) -> str:
        return self._start_date or date.today().isoformat()
