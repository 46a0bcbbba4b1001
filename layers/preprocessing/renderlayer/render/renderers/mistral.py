"""Models with a tokenizer in Mistral's own form: mistral-common writes their prompts, token by token (wire.md 3.7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mistral_common.protocol.instruct.request import ChatCompletionRequest

from renderlayer import multimodal
from renderlayer.errors import BadRequest
from renderlayer.render.content_parts import content_parts, part_text
from renderlayer.render.prompt import check_ids
from renderlayer.render.renderers.mistral_grammar import PackedGrammar
from renderlayer.render.renderers.mistral_tokenizer import open_mistral
from renderlayer.render.renderers.renderer import Renderer
from renderlayer.render.types import ChatParams, Prompt
from renderlayer.served_model import ServedModel

_ID_LENGTH = 9
_FIRST_WITH_EFFORT = 15
_FIRST_WITH_GRAMMAR = 11
_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning", "reasoning_content")


class MistralRenderer(Renderer):
    """Renders for one model."""

    def __init__(self, server: ServedModel) -> None:
        self._server = server
        self._mistral = open_mistral(server.model)
        version = self._mistral.version.version_num
        self._takes_effort = version >= _FIRST_WITH_EFFORT
        self._grammar: PackedGrammar | None = None
        if version >= _FIRST_WITH_GRAMMAR and server.parsers.tool == "mistral":
            self._grammar = PackedGrammar(self._mistral, server.model.vocabulary.added)

    def check_template(self, chat_template: str | None, kwargs: dict[str, Any] | None) -> None:
        """Refuse templates and their kwargs: there is none."""
        if chat_template is not None or kwargs is not None:
            raise BadRequest("chat_template is not supported for Mistral tokenizers.", "chat_template")

    def grammar(
        self,
        tools: list[dict[str, Any]] | None,
        tool_choice: str | dict[str, Any] | None,
        parallel_tool_calls: bool | None,
        constraint: dict[str, Any] | None,
    ) -> str | None:
        if self._grammar is None:
            return None
        with _refusals():
            return self._grammar.written(tools, tool_choice, parallel_tool_calls, constraint)

    def prompt(self, params: ChatParams) -> Prompt:
        messages = [_message(message) for message in params.messages]
        continued = bool(params.kwargs.get("continue_final_message"))
        _check_end(messages, continued, bool(params.kwargs.get("add_generation_prompt")))
        effort = {"reasoning_effort": params.kwargs.get("reasoning_effort")} if self._takes_effort else {}
        with _refusals():
            request = ChatCompletionRequest.from_openai(
                messages, params.tools, continue_final_message=continued, **effort
            )
            token_ids: list[int] = self._mistral.encode_chat_completion(request).tokens
        if params.limited:
            token_ids = check_ids(token_ids, self._server, params.options)
        return Prompt(token_ids, history_tool_calls=sum(len(message.get("tool_calls") or ()) for message in messages))


@contextmanager
def _refusals() -> Iterator[None]:
    """The library states its rules by assertions and by exceptions of several kinds; all speak of the request."""
    try:
        yield
    except BadRequest:
        raise
    except Exception as error:
        raise BadRequest(str(error)) from error


def _check_end(messages: list[dict[str, Any]], continued: bool, generate: bool) -> None:
    """The last message and the two fields about it must agree."""
    if continued and generate:
        raise BadRequest("Cannot set both `add_generation_prompt` and `continue_final_message` to True.")
    if not continued and not generate:
        raise BadRequest("Cannot set `add_generation_prompt` to False: Mistral prompts always open an answer.")
    answered = bool(messages) and messages[-1]["role"] == "assistant"
    if generate and answered:
        raise BadRequest(
            "Cannot set `add_generation_prompt` to True when the last message is from the assistant. Consider using "
            "`continue_final_message` instead."
        )
    if continued and not answered:
        raise BadRequest("Cannot set `continue_final_message` to True when the last message is not from the assistant.")


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A message for the library: the keys that it knows, and ids of the length that it wants.

    Raises:
        BadRequest: a content part is malformed or no text.
    """
    for part in content_parts(message):
        if part_text(part) is None and multimodal.modality_of(part) is not None:
            raise BadRequest("This model's tokenizer renders text only; media are not supported.", "messages")
    known = {key: message[key] for key in _KEYS if message.get(key) is not None}
    if message.get("tool_call_id") is not None:
        known["tool_call_id"] = message["tool_call_id"][-_ID_LENGTH:]
    if message.get("tool_calls"):
        known["tool_calls"] = [{**call, "id": call["id"][-_ID_LENGTH:]} for call in message["tool_calls"]]
    return known
