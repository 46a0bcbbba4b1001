"""`/v1/responses/render`: what a Responses request makes of the prompt and of the engine's request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderlayer.errors import BadRequest, InvalidRequest, NotFound, RenderLayerError, ValidationFailed
from renderlayer.render.chat import render_chat
from renderlayer.render.responses import render_responses
from renderlayer.render.responses_request import chat_request
from renderlayer.render.server import Server
from renderlayer.settings import Settings
from renderlayer.wire._base import parse
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.responses import ResponsesRequest
from tests.models import make_model_folder, open_server

Json = dict[str, Any]
WEATHER: Json = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def parsed(model_folder: Path) -> Server:
    settings = Settings(
        served_model_name=["small"],
        tool_call_parser="hermes",
        reasoning_parser="qwen3",
        enable_auto_tool_choice=True,
    )
    return open_server(model_folder, settings)


def render(server: Server, **body: Any) -> Json:
    return render_responses(parse(ResponsesRequest, {"input": "Hello", **body}), server)


def prompt(server: Server, **body: Any) -> str:
    return server.model.tokenizer.decode(render(server, **body)["token_ids"], skip_special_tokens=False)


def messages(items: list[Json], **body: Any) -> list[Json]:
    return chat_request(parse(ResponsesRequest, {"input": items, **body})).messages


def refusal(server: Server, **body: Any) -> RenderLayerError:
    with pytest.raises(RenderLayerError) as caught:
        render(server, **body)
    return caught.value


def test_a_string_with_instructions_is_a_user_message_behind_a_system_message(server: Server) -> None:
    assert prompt(server, instructions="Be terse.") == (
        "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_prompt_is_the_one_that_chat_makes(server: Server) -> None:
    chat = parse(ChatCompletionRequest, {"messages": [{"role": "user", "content": "Hello"}]})

    assert render(server)["token_ids"] == render_chat(chat, server)["token_ids"]


def test_a_bos_that_the_template_prints_is_not_doubled(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, processors

    folder = make_model_folder(tmp_path / "bos", template="<|endoftext|>{{ messages[0].content }}")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    bos = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", bos)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))

    token_ids = render(open_server(folder, Settings()))["token_ids"]

    assert token_ids[0] == bos
    assert token_ids.count(bos) == 1


def test_what_the_engine_is_left_to_decide(parsed: Server) -> None:
    answer = render(parsed, stream=True, request_id="resp_1", kv_transfer_params={"a": 1})

    assert answer["request_id"] == "resp_1"
    assert answer["parse_context"] is None
    assert answer["reasoning_ended"] is None
    assert answer["reasoning_parser_kwargs"] is not None
    assert (answer["stream"], answer["stream_options"]) == (True, None)
    assert answer["kv_transfer_params"] == {"a": 1}
    assert "extra_args" not in answer["sampling_params"]
    assert render(parsed)["sampling_params"]["extra_args"] == {}
    assert render(parsed, vllm_xargs={"q": 2})["sampling_params"]["extra_args"] == {"q": 2}


def test_ids_are_made_when_none_is_given(server: Server) -> None:
    first, second = render(server)["request_id"], render(server)["request_id"]

    assert first.startswith("resp_")
    assert first != second


def test_a_history_of_reasoning_calls_and_outputs() -> None:
    items: list[Json] = [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "get", "arguments": '{"a":1}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "run", "namespace": "py", "input": "x=1"},
        {"type": "function_call_output", "call_id": "c1", "output": "21"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "ok"}]},
        {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "21 °C"}]},
    ]

    assert messages(items) == [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "reasoning": "hm",
            "tool_calls": [
                {"id": "c1", "function": {"name": "get", "arguments": '{"a":1}'}, "type": "function"},
                {"id": "c2", "function": {"name": "py__run", "arguments": '{"input": "x=1"}'}, "type": "function"},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "21"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "input_text", "text": "ok"}]},
        {"type": "message", "role": "assistant", "id": "m", "content": "21 °C"},
    ]


def test_reasoning_joins_the_text_that_follows_it_and_only_that() -> None:
    think: Json = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}, {"text": "b"}]}
    say = {"role": "assistant", "content": "So."}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}

    assert messages([think, say]) == [{**say, "reasoning": "a\nb"}]
    assert [message.get("reasoning") for message in messages([think, call, say])] == ["a\nb", None]
    assert [message.get("content") for message in messages([say, call])] == ["So."]


def test_calls_show_their_name_before_their_arguments(tmp_path: Path) -> None:
    template = "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}."
    server = open_server(make_model_folder(tmp_path / "json", template=template), Settings())
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"b": 1, "a": 2}'}

    assert prompt(server, input=[call]) == (
        '{"id": "c", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}, "type": "function"}.'
    )


@pytest.mark.parametrize("status", ["in_progress", "incomplete"])
def test_an_unfinished_last_message_is_continued(server: Server, status: str) -> None:
    item = {"type": "message", "role": "assistant", "id": "m", "status": status}
    text = prompt(server, input=[{**item, "content": [{"type": "output_text", "text": "The answer"}]}])

    assert text.endswith("<|im_start|>assistant\nThe answer")


def test_a_finished_last_message_is_not_continued(server: Server) -> None:
    item = {"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": "Done"}

    assert prompt(server, input=[item]).endswith("<|im_start|>assistant\n")


def test_tools_of_every_kind_as_the_template_sees_them() -> None:
    custom = {"type": "custom", "name": "shell", "description": "d", "format": {"type": "text"}}
    space = {"type": "namespace", "name": "crm", "description": "", "tools": [{**WEATHER, "strict": True}, custom]}
    request = parse(ResponsesRequest, {"input": "x", "tools": [WEATHER, space, {"type": "web_search"}]})
    tools = chat_request(request).tool_dicts()

    assert tools is not None
    assert [tool["function"]["name"] for tool in tools] == ["get_weather", "crm__get_weather", "crm__shell"]
    assert tools[0]["function"] == {"name": "get_weather", "description": None, "parameters": {"type": "object"}}
    assert tools[1]["function"]["strict"] is True
    assert list(tools[2]["function"]["parameters"]["properties"]) == ["input"]


@pytest.mark.parametrize(
    ("choice", "expected", "names"),
    [
        ("auto", "auto", ["get_weather", "ns__b"]),
        ("none", "none", ["get_weather", "ns__b"]),
        ("required", "required", ["get_weather", "ns__b"]),
        ({"type": "function", "name": "get_weather"}, "get_weather", ["get_weather", "ns__b"]),
        ({"type": "custom", "name": "b", "namespace": "ns"}, "ns__b", ["get_weather", "ns__b"]),
        ({"type": "allowed_tools", "mode": "required", "tools": [{"name": "b"}]}, "required", ["ns__b"]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "ns"}]}, "auto", ["ns__b"]),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "none", []),
    ],
)
def test_tool_choices(choice: Any, expected: str, names: list[str]) -> None:
    space = {"type": "namespace", "name": "ns", "tools": [{"type": "custom", "name": "b"}]}
    chat = chat_request(parse(ResponsesRequest, {"input": "x", "tools": [WEATHER, space], "tool_choice": choice}))

    assert (chat.named_tool or chat.choice()) == expected
    assert [tool["function"]["name"] for tool in chat.tool_dicts() or ()] == names


def test_a_demanded_call_is_constrained_and_needs_no_flag(server: Server, parsed: Server) -> None:
    assert (
        "structural_tag"
        in render(parsed, tools=[WEATHER], tool_choice="required")["sampling_params"]["structured_outputs"]
    )
    assert "token_ids" in render(server, tools=[WEATHER])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"type": "text"}, {}),
        ({"type": "json_object"}, {"json_object": True}),
        ({"type": "json_schema", "name": "p", "schema": {"type": "object"}}, {"json": {"type": "object"}}),
    ],
)
def test_text_formats(server: Server, form: Json, expected: Json) -> None:
    constraint = render(server, text={"format": form})["sampling_params"].get("structured_outputs") or {}

    assert {key: constraint[key] for key in ("json", "json_object") if constraint.get(key)} == expected


def test_sampling_fields_and_efforts(server: Server) -> None:
    answer = render(
        server,
        max_output_tokens=7,
        top_logprobs=3,
        include=["message.output_text.logprobs"],
        temperature=0.5,
        reasoning={"effort": "none", "summary": "auto"},
        stop="END",
    )
    params = answer["sampling_params"]

    assert (params["max_tokens"], params["logprobs"], params["temperature"]) == (7, 3, 0.5)
    assert params["stop"] == ["END"]
    assert "logprobs" not in render(server, top_logprobs=3)["sampling_params"]
    assert "<think>" in prompt(server, reasoning={"effort": "none"})


def test_truncation_auto_cuts_on_the_left(server: Server) -> None:
    answer = render(server, input="word " * 5000, truncation="auto")

    assert len(answer["token_ids"]) == server.max_model_len - 1
    assert answer["sampling_params"]["max_tokens"] == 1


@pytest.mark.parametrize(
    ("body", "error", "param"),
    [
        ({"model": "nope"}, NotFound, "model"),
        ({"previous_response_id": "resp_1"}, InvalidRequest, "previous_response_id"),
        ({"prompt": {"id": "p"}}, BadRequest, "prompt"),
        ({"background": True, "store": False}, BadRequest, "background"),
        (
            {"structured_outputs": {"regex": "a"}, "text": {"format": {"type": "text"}}},
            BadRequest,
            "structured_outputs",
        ),
        ({"prompt_cache_retention": "1h"}, ValidationFailed, "body.prompt_cache_retention"),
        ({"cache_salt": ""}, BadRequest, "cache_salt"),
        ({"max_output_tokens": 10**6}, BadRequest, "max_output_tokens"),
        ({"max_output_tokens": 0}, BadRequest, "max_tokens"),
        ({"input": None}, ValidationFailed, "body.input"),
        ({"input": []}, BadRequest, None),
        ({"input": [{"type": "item_reference", "id": "x"}]}, BadRequest, "input"),
        ({"input": [{"type": "reasoning", "encrypted_content": "…"}]}, BadRequest, None),
        ({"input": [{"type": "function_call", "name": "f"}]}, ValidationFailed, "body.input.0.call_id"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, ValidationFailed, "body.input.0.output"),
        ({"input": [{"role": "user", "content": 3}]}, ValidationFailed, "body.input.0.content"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}, BadRequest, "type"),
        ({"tools": [{"type": "magic"}]}, ValidationFailed, "body.tools.0.type"),
        ({"tools": [{"type": []}]}, ValidationFailed, "body.tools.0.type"),
        ({"tools": [{"type": "function"}]}, ValidationFailed, "body.tools.0.name"),
        ({"tools": [{**WEATHER, "description": 3}]}, ValidationFailed, "body.tools.0.description"),
        ({"tools": [{**WEATHER, "strict": "x"}]}, ValidationFailed, "body.tools.0.strict"),
        ({"tools": [{"type": "custom", "name": "c", "format": {"type": "grammar"}}]}, BadRequest, "tools"),
        ({"tools": [{"type": "namespace", "name": "n", "tools": [3]}]}, ValidationFailed, "body.tools.0.tools.0"),
        ({"tool_choice": "required"}, BadRequest, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"type": "function", "name": "x"}}, BadRequest, "tool_choice"),
        ({"tools": [WEATHER], "tool_choice": {"type": "mcp"}}, BadRequest, "tool_choice"),
        ({"mm_processor_kwargs": {"a": 1}}, BadRequest, "mm_processor_kwargs"),
    ],
)
def test_refusals_name_the_field(server: Server, body: Json, error: type[RenderLayerError], param: str | None) -> None:
    refused = refusal(server, **body)

    assert type(refused) is error
    assert refused.param == param
    assert refused.message
