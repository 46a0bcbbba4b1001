"""Whole chat requests in, whole generate requests out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from renderlayer.errors import BadRequest
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.models import open_server

HELLO = [{"role": "user", "content": "Hello world"}]
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}


def render(server: ServedModel, header_id: str | None = None, **body: Any) -> dict[str, Any]:
    return render_chat(parse(ChatCompletionRequest, {"messages": HELLO, **body}), server, header_id)


def text_of(server: ServedModel, rendered: dict[str, Any]) -> str:
    return server.model.tokenizer.decode(rendered["token_ids"], skip_special_tokens=False)


def with_settings(server: ServedModel, **changes: Any) -> ServedModel:
    return ServedModel(server.model, replace(server.settings, **changes))


def test_a_plain_request_has_every_key_in_the_order_of_the_wire(server: ServedModel) -> None:
    rendered = render(server, model="small")
    assert list(rendered) == [
        "request_id",
        "token_ids",
        "token_offsets",
        "features",
        "content_parts",
        "sampling_params",
        "model",
        "reasoning_ended",
        "reasoning_parser_kwargs",
        "return_token_ids",
        "output_mode",
        "parse_context",
        "stream",
        "stream_options",
        "cache_salt",
        "priority",
        "kv_transfer_params",
        "ec_transfer_params",
    ]
    assert text_of(server, rendered) == "<|im_start|>user\nHello world<|im_end|>\n<|im_start|>assistant\n"
    assert list(rendered["sampling_params"].items()) == [
        ("presence_penalty", 0.0),
        ("frequency_penalty", 0.0),
        ("repetition_penalty", 1.0),
        ("temperature", 0.6),
        ("top_p", 1.0),
        ("min_p", 0.0),
        ("stop", []),
        ("stop_token_ids", []),
        ("max_tokens", 4096 - len(rendered["token_ids"])),
        ("output_kind", 2),
        ("skip_clone", True),
        ("bad_words", []),
        ("skip_reading_prefix_cache", False),
    ]
    assert rendered["parse_context"] == {
        "tools": None,
        "tool_choice": "none",
        "parallel_tool_calls": True,
        "include_reasoning": True,
        "chat_template_kwargs": {
            "cohere_format": "cmd4",
            "add_generation_prompt": True,
            "continue_final_message": False,
        },
        "history_tool_call_cnt": 0,
    }


def test_equal_requests_give_equal_results(server: ServedModel) -> None:
    first, second = render(server, request_id="same"), render(server, request_id="same")
    assert first == second


def test_max_tokens_is_stated_even_where_it_is_the_engines_default(server: ServedModel) -> None:
    assert render(server, max_tokens=16)["sampling_params"]["max_tokens"] == 16


def test_max_completion_tokens_beats_max_tokens(server: ServedModel) -> None:
    assert render(server, max_tokens=5, max_completion_tokens=7)["sampling_params"]["max_tokens"] == 7


def test_the_operators_cap_lowers_max_tokens(server: ServedModel) -> None:
    capped = with_settings(server, override_generation_config={"max_new_tokens": 9})
    assert render(capped)["sampling_params"]["max_tokens"] == 9
    assert render(capped, max_tokens=100)["sampling_params"]["max_tokens"] == 9


def test_many_sampling_fields_travel(server: ServedModel) -> None:
    params = render(
        server,
        temperature=0,
        seed=7,
        stop=["END", "xx"],
        logprobs=True,
        top_logprobs=2,
        max_completion_tokens=16,
        logit_bias={"5": 200},
        bad_words=["foo"],
        min_tokens=2,
        vllm_xargs={"q": 2},
        response_format={"type": "json_object"},
        stream=True,
    )["sampling_params"]
    assert "top_p" not in params and "min_p" not in params  # greedy
    assert params["temperature"] == 0.0
    assert params["logprobs"] == 2
    assert params["logit_bias"] == {"5": 100.0}
    assert params["output_text_buffer_length"] == 2
    assert params["extra_args"] == {"q": 2}
    assert params["structured_outputs"]["json_object"] is True
    assert params["output_kind"] == 1


def test_a_tiny_temperature_is_raised(server: ServedModel) -> None:
    assert render(server, temperature=0.001)["sampling_params"]["temperature"] == 0.01


def test_stream_options_travel_only_with_streams(server: ServedModel) -> None:
    rendered = render(server, stream=True, stream_options={"include_usage": True})
    assert rendered["stream_options"] == {"include_usage": True, "continuous_usage_stats": False}
    assert render(server)["stream_options"] is None


def test_transfer_params_stand_at_the_top_level(server: ServedModel) -> None:
    rendered = render(server, kv_transfer_params={"a": 1}, ec_transfer_params={})
    assert rendered["kv_transfer_params"] == {"a": 1}
    assert rendered["ec_transfer_params"] is None
    assert "extra_args" not in rendered["sampling_params"]


def test_a_prompt_that_comes_back_in_kv_transfer_params_is_used_as_it_is(server: ServedModel) -> None:
    rendered = render(server, kv_transfer_params={"prompt_token_ids": [5, 6, 7], "remote": "x"})
    assert rendered["token_ids"] == [5, 6, 7]
    assert rendered["kv_transfer_params"] == {"remote": "x"}


def test_request_ids(server: ServedModel) -> None:
    assert render(server, request_id="mine")["request_id"] == "chatcmpl-mine"
    assert render(server, "header", request_id="mine")["request_id"] == "chatcmpl-header"
    drawn = render(server)["request_id"].removeprefix("chatcmpl-")
    assert len(drawn) == 16 and int(drawn, 16) >= 0


@pytest.mark.parametrize(
    ("effort", "given", "expected"),
    [("low", {}, True), ("none", {}, False), ("none", {"enable_thinking": True}, True)],
)
def test_reasoning_effort_switches_thinking(
    server: ServedModel, effort: str, given: dict[str, Any], expected: bool
) -> None:
    kwargs = render(server, reasoning_effort=effort, chat_template_kwargs=given)["parse_context"][
        "chat_template_kwargs"
    ]
    assert (kwargs["reasoning_effort"], kwargs["enable_thinking"]) == (effort, expected)


def test_efforts_are_mapped_first(server: ServedModel) -> None:
    mapped = with_settings(server, reasoning_effort_map={"minimal": "none"})
    kwargs = render(mapped, reasoning_effort="minimal")["parse_context"]["chat_template_kwargs"]
    assert (kwargs["reasoning_effort"], kwargs["enable_thinking"]) == ("none", False)


def test_template_kwargs_reach_the_template(server: ServedModel) -> None:
    rendered = render(server, chat_template_kwargs={"enable_thinking": False, "unknown": 1})
    assert text_of(server, rendered).endswith("<think>\n\n</think>\n\n")


def test_continue_final_message_leaves_the_last_message_open(server: ServedModel) -> None:
    messages = [*HELLO, {"role": "assistant", "content": "The answer is"}]
    rendered = render(server, messages=messages, continue_final_message=True, add_generation_prompt=False)
    assert text_of(server, rendered).endswith("The answer is")


@pytest.mark.parametrize(
    ("side", "start", "end"), [("left", -4, None), ("right", 0, 4), (None, -4, None)], ids=["left", "right", "default"]
)
def test_truncation_keeps_one_end(server: ServedModel, side: str | None, start: int, end: int | None) -> None:
    whole = render(server)["token_ids"]
    cut = render(server, truncate_prompt_tokens=4, **({"truncation_side": side} if side else {}))["token_ids"]
    assert cut == whole[start:end]


def test_truncation_to_the_context_leaves_room_for_one_token(server: ServedModel) -> None:
    long = [{"role": "user", "content": "word " * 6000}]
    rendered = render(server, messages=long, truncate_prompt_tokens=-1)
    assert len(rendered["token_ids"]) == server.max_model_len - 1
    assert rendered["sampling_params"]["max_tokens"] == 1


def test_offsets_cover_the_text(server: ServedModel) -> None:
    rendered = render(server, return_token_offsets=True)
    text = text_of(server, rendered)
    assert len(rendered["token_offsets"]) == len(rendered["token_ids"])
    assert "".join(text[start:end] for start, end in rendered["token_offsets"]) == text


def test_a_history_of_calls_reaches_the_template(server: ServedModel) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    messages = [
        *HELLO,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "21"},
    ]
    rendered = render(server, messages=messages)
    assert '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>' in text_of(
        server, rendered
    )
    assert rendered["parse_context"]["history_tool_call_cnt"] == 1


def test_an_empty_list_of_calls_is_no_call(server: ServedModel) -> None:
    messages = [*HELLO, {"role": "assistant", "content": "Hi", "tool_calls": []}]
    assert "<tool_call>" not in text_of(server, render(server, messages=messages))


def test_text_parts_equal_a_string(server: ServedModel) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hello world"}]}]
    assert render(server, messages=parts)["token_ids"] == render(server)["token_ids"]


def test_tool_choice_none_hides_tools_only_when_told(server: ServedModel) -> None:
    assert "get_weather" in text_of(server, render(server, tools=[TOOL], tool_choice="none"))
    hiding = with_settings(server, exclude_tools_when_tool_choice_none=True)
    assert "get_weather" not in text_of(server, render(hiding, tools=[TOOL], tool_choice="none"))


def test_a_named_tool_keeps_the_references_key_order(server: ServedModel) -> None:
    parsing = with_settings(server, tool_call_parser="hermes", enable_auto_tool_choice=True)
    choice = {"type": "function", "function": {"name": "get_weather"}}
    context = render(parsing, tools=[TOOL], tool_choice=choice)["parse_context"]
    assert list(context["tool_choice"]) == ["function", "type"]
    assert context["tools"][0]["function"]["description"] is None


def test_a_named_tool_that_is_declared_twice_is_the_last_one_where_no_tag_is_built(server: ServedModel) -> None:
    tools = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {field: {}}}}}
        for field in ("first", "last")
    ]
    asked = {"tools": tools, "tool_choice": {"type": "function", "function": {"name": "f"}}}
    plain = with_settings(server, tool_call_parser="pythonic", enable_auto_tool_choice=True)
    held = render(plain, **asked)["sampling_params"]["structured_outputs"]["json"]
    assert list(held["properties"]) == ["last"]
    tagged = with_settings(server, tool_call_parser="hermes", enable_auto_tool_choice=True)
    with pytest.raises(BadRequest, match="exactly one tool"):
        render(tagged, **asked)


def test_server_defaults_for_template_kwargs_can_be_overridden(server: ServedModel) -> None:
    quiet = with_settings(server, default_chat_template_kwargs={"enable_thinking": False})
    assert text_of(server, render(quiet)).endswith("</think>\n\n")
    assert not text_of(server, render(quiet, chat_template_kwargs={"enable_thinking": True})).endswith("</think>\n\n")


def test_generation_config_vllm_means_no_defaults(server: ServedModel) -> None:
    assert render(with_settings(server, generation_config="vllm"))["sampling_params"]["temperature"] == 1.0


GRAMMAR = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}}
CUSTOM: dict[str, Any] = {"type": "custom", "custom": {"name": "shell", "description": "Runs.", "format": GRAMMAR}}
WEATHER: dict[str, Any] = {"type": "function", "function": {"name": "get_weather", "strict": False}}


def chat(**body: Any) -> ChatCompletionRequest:
    return parse(ChatCompletionRequest, {"messages": [{"role": "user", "content": "x"}], **body})


def test_custom_tools_are_functions_of_one_string() -> None:
    request = chat(tools=[CUSTOM, WEATHER], tool_choice={"type": "custom", "custom": {"name": "shell"}})
    custom, weather = request.tool_dicts() or ()

    assert request.named_tool == "shell"
    assert custom["function"]["description"] == "Runs.\n\nThe input must match this regex grammar:\n[a-z]+"
    (held,) = custom["function"]["parameters"]["properties"].values()
    assert (held["pattern"], custom["function"]["strict"]) == ("^(?:[a-z])+$", True)
    assert weather["function"]["strict"] is False


def test_allowed_tools_are_shown_alone() -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "get_weather"}}]}
    request = chat(tools=[CUSTOM, WEATHER], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})

    assert [tool["function"]["name"] for tool in request.tool_dicts() or ()] == ["get_weather"]
    assert request.choice() == "required"
    with pytest.raises(BadRequest) as caught:
        chat(tools=[CUSTOM], tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert caught.value.param == "tool_choice"


def test_calls_of_the_history_in_every_form() -> None:
    calls: list[dict[str, Any]] = [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"city": "Köln"}}},
        {"id": "b", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
    ]
    message = chat(messages=[{"role": "assistant", "tool_calls": calls}]).messages[0]

    assert [call["function"] for call in message["tool_calls"]] == [
        {"name": "f", "arguments": '{"city": "Köln"}'},
        {"name": "shell", "arguments": '{"input": "ls"}'},
    ]


def test_what_a_closed_turn_thought_says_nothing_of_the_next(model_folder: Path) -> None:
    server = open_server(model_folder, Settings(reasoning_parser="qwen3"))
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "<think>a</think>b"}]

    assert render_chat(chat(messages=turns, add_generation_prompt=False), server)["reasoning_ended"] is False
    assert render_chat(chat(messages=turns, reasoning_effort="none"), server)["reasoning_ended"] is True


def test_a_choice_that_is_null_rules_constraints_out_as_a_named_one_does(server: ServedModel) -> None:
    with pytest.raises(BadRequest, match="not both"):
        render(server, structured_outputs={"regex": "a"}, tool_choice=None)
    assert render(server, structured_outputs={"regex": "a"})["sampling_params"]["structured_outputs"]["regex"] == "a"
