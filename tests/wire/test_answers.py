"""The answers' types have the keys that the API's description has, which tests hold against real answers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from renderlayer.http.openapi import answers as described
from renderlayer.wire import answers as typed

PAIRS: list[tuple[Any, type[BaseModel]]] = [
    (typed.ChatCompletion, described.ChatCompletion),
    (typed.ChatChoice, described.ChatChoice),
    (typed.Message, described.ChatMessage),
    (typed.ChatChunk, described.ChatCompletionChunk),
    (typed.ChatChunkChoice, described.ChatChunkChoice),
    (typed.Delta, described.Delta),
    (typed.ChatLogprobs, described.ChatLogprobs),
    (typed.TokenLogprob, described.TokenLogprob),
    (typed.ContentLogprob, described.TokenLogprobs),
    (typed.Completion, described.Completion),
    (typed.CompletionChoice, described.CompletionChoice),
    (typed.CompletionChunk, described.CompletionChunk),
    (typed.CompletionLogprobs, described.CompletionLogprobs),
    (typed.Usage, described.Usage),
    (typed.Continuation, described.Continuation),
    (typed.GenerateRequest, described.RenderedPrompt),
    (typed.DerenderedChatChunk, described.DerenderedChatChunk),
    (typed.DerenderedCompletionChunk, described.DerenderedCompletionChunk),
]


@pytest.mark.parametrize(("answer", "model"), PAIRS, ids=lambda each: each.__name__)
def test_the_keys_are_those_of_the_description(answer: Any, model: type[BaseModel]) -> None:
    assert set(answer.__annotations__) == set(model.model_fields)
