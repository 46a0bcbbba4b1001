"""harmony in the other APIs: Responses, Messages, tokenize."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.errors import BadRequest, InvalidRequest
from renderlayer.render.chat import render_chat
from renderlayer.render.completion import render_completion
from renderlayer.render.messages.render import render_messages
from renderlayer.render.responses.render import render_responses
from renderlayer.render.tokenize import tokenize_request
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.messages import MessagesRequest
from renderlayer.wire.responses import ResponsesRequest
from renderlayer.wire.tokenize import TokenizeChatRequest
from tests.render.renderers.conftest import DATE
from tests.render.renderers.test_harmony import ASSISTANT, HELLO, SYSTEM, TOOL, render, spelled


def test_responses_show_previous_messages_in_either_form(harmony: ServedModel) -> None:
    previous: list[dict[str, Any]] = [
        {"role": "user"},
        {"role": "system", "content": "dropped"},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "name": "f", "content": "25"},
        {"author": {"role": "assistant"}, "channel": "final", "content": [{"text": "It is "}, {"text": "25."}]},
    ]
    body = {"input": "", "previous_input_messages": previous}
    assert spelled(harmony, render_responses(parse(ResponsesRequest, body), harmony)) == SYSTEM + (
        "<|start|>user<|message|><|end|>"
        "<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{}<|call|>"
        "<|start|>functions.f<|channel|>commentary to=assistant<|message|>25<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>It is 25.<|end|>{ASSISTANT}"
    )


def test_responses_show_every_part_and_empty_turns(harmony: ServedModel) -> None:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in ("One. ", "Two.")]
    items: list[dict[str, Any]] = [
        {"role": "assistant", "content": []},
        {"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": parts},
    ]
    said = "<|start|>assistant<|channel|>final<|message|>{}<|end|>"
    assert spelled(harmony, render_responses(parse(ResponsesRequest, {"input": items}), harmony)) == (
        SYSTEM + said.format("") + said.format("One. Two.") + ASSISTANT
    )


def test_tokenize_shows_the_same_tokens(harmony: ServedModel) -> None:
    request = parse(TokenizeChatRequest, {"messages": HELLO, "tools": [TOOL]})
    assert tokenize_request(request, harmony)["tokens"] == render(harmony, HELLO, tools=[TOOL])["token_ids"]


def test_responses(harmony: ServedModel) -> None:
    body = {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Weather?"},
            {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "Look."}]},
            {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Rome"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "25"},
        ],
        "reasoning": {"effort": "low"},
    }
    text = spelled(harmony, render_responses(parse(ResponsesRequest, body), harmony))
    assert text == SYSTEM.replace("Reasoning: medium", "Reasoning: low") + (
        "<|start|>developer<|message|># Instructions\n\nBe brief.<|end|>"
        "<|start|>user<|message|>Weather?<|end|>"
        "<|start|>assistant<|channel|>analysis<|message|>Look.<|end|>"
        '<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city":"Rome"}<|call|>'
        f"<|start|>functions.get_weather<|channel|>commentary to=assistant<|message|>25<|end|>{ASSISTANT}"
    )


def test_responses_refuse_an_answer_without_its_call(harmony: ServedModel) -> None:
    body = {"input": [{"type": "function_call_output", "call_id": "gone", "output": "25"}]}
    with pytest.raises(InvalidRequest) as refusal:
        render_responses(parse(ResponsesRequest, body), harmony)
    assert refusal.value.param == "input"


def test_messages(harmony: ServedModel) -> None:
    body = {
        "model": "oss",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "French."}],
        "thinking": {"type": "disabled"},
    }
    text = spelled(harmony, render_messages(parse(MessagesRequest, body), harmony))
    assert "\n\nReasoning: low\n\n" in text
    assert "<|start|>developer<|message|># Instructions\n\nBe brief.French.<|end|><|start|>user" in text
    assert f"Current date: {DATE}" in text


def test_chat_cuts_a_wish_for_tokens_beyond_the_context_and_completions_refuse_it(harmony: ServedModel) -> None:
    chat = render_chat(parse(ChatCompletionRequest, {"messages": HELLO, "max_tokens": 10**9}), harmony)
    assert chat["sampling_params"]["max_tokens"] == harmony.max_model_len - len(chat["token_ids"])
    with pytest.raises(BadRequest, match="cannot be greater than max_model_len"):
        render_completion(parse(CompletionRequest, {"prompt": "x", "max_tokens": 10**9}), harmony)


def test_earlier_input_says_something_or_calls(harmony: ServedModel) -> None:
    def with_earlier(message: dict[str, Any]) -> str:
        body = {"input": "Hello", "previous_input_messages": [message]}
        return spelled(harmony, render_responses(parse(ResponsesRequest, body), harmony))

    with pytest.raises(BadRequest, match="previous_input_messages is null"):
        with_earlier({"role": "assistant", "content": None})
    call = {"function": {"name": "f", "arguments": "{}"}}
    assert "to=functions.f" in with_earlier({"role": "assistant", "content": None, "tool_calls": [call]})
    assert "<|start|><|channel|>commentary to=assistant<|message|>21" in with_earlier({"role": "tool", "content": "21"})
