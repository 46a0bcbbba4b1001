"""`/v1/responses/render`: what a Responses request makes of the prompt and of the engine's request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.render.chat import render_chat
from renderlayer.render.responses.render import render_responses
from renderlayer.render.responses.request import chat_request
from renderlayer.request_context import remarks
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.responses import ResponsesRequest
from tests.models import make_model_folder, open_server

Json = dict[str, Any]
WEATHER: Json = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def parsed(model_folder: Path) -> ServedModel:
    settings = Settings(
        served_model_name=["small"],
        tool_call_parser="hermes",
        reasoning_parser="qwen3",
        enable_auto_tool_choice=True,
    )
    return open_server(model_folder, settings)


def render(server: ServedModel, **body: Any) -> Json:
    return render_responses(parse(ResponsesRequest, {"input": "Hello", **body}), server)


def prompt(server: ServedModel, **body: Any) -> str:
    return server.model.tokenizer.decode(render(server, **body)["token_ids"], skip_special_tokens=False)


def messages(items: list[Json], **body: Any) -> list[Json]:
    return chat_request(parse(ResponsesRequest, {"input": items, **body})).messages


def test_a_string_with_instructions_is_a_user_message_behind_a_system_message(server: ServedModel) -> None:
    assert prompt(server, instructions="Be terse.") == (
        "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_prompt_is_the_one_that_chat_makes(server: ServedModel) -> None:
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


def test_what_the_engine_is_left_to_decide(parsed: ServedModel) -> None:
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


def test_ids_are_made_when_none_is_given(server: ServedModel) -> None:
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
        {"role": "assistant", "content": "21 °C"},
    ]


def test_items_of_one_turn_become_one_message() -> None:
    texts = [{"type": "summary_text", "text": text} for text in "ab"]
    think: Json = {"type": "reasoning", "summary": texts}
    say = {"role": "assistant", "content": "So."}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}

    assert messages([think, say]) == [{**say, "reasoning": "a\nb"}]
    assert messages([say, think]) == [{**say, "reasoning": "a\nb"}]
    assert [sorted(message) for message in messages([think, call, say])] == [
        ["content", "reasoning", "role", "tool_calls"]
    ]
    assert [message["content"] for message in messages([say, say])] == ["So.", "So."]
    assert messages([{"role": "assistant", "content": []}, think]) == [
        {"role": "assistant", "content": [], "reasoning": "a\nb"}
    ]


def test_every_part_of_an_answer_is_in_the_prompt(server: ServedModel) -> None:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in ("PART1", "PART2")]
    answer = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts}

    assert "assistant\nPART1\nPART2<|im_end|>" in prompt(server, input=[answer, {"role": "user", "content": "y"}])


def test_what_cannot_be_read_is_left_out_with_a_remark(server: ServedModel) -> None:
    hello = {"role": "user", "content": "Hello"}
    unread: list[Json] = [
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"},
        {"type": "item_reference", "id": "x"},
        {"type": "compaction", "id": "c", "encrypted_content": "gAAA"},
        {"type": "of_the_future", "anything": [1]},
    ]
    with remarks() as found:
        assert prompt(server, input=[hello, *unread]) == prompt(server, input=[hello])

    assert [text.split("'")[1] for text in found] == ["reasoning", "item_reference", "compaction", "of_the_future"]


def test_calls_of_the_clients_own_tools_are_shown_as_calls() -> None:
    action = {"type": "exec", "command": ["ls"], "env": {}}
    items: list[Json] = [
        {"type": "local_shell_call", "id": "i", "call_id": "c", "status": "completed", "action": action},
        {"type": "local_shell_call_output", "id": "c", "output": "README.md"},
        {"type": "apply_patch_call", "call_id": "p", "status": "completed", "operation": {"type": "delete_file"}},
        {"type": "apply_patch_call_output", "call_id": "p", "status": "completed"},
    ]
    shell, listed, patch, patched = messages(items)

    assert shell["tool_calls"][0]["id"] == "c"
    assert shell["tool_calls"][0]["function"]["name"] == "local_shell"
    assert json.loads(shell["tool_calls"][0]["function"]["arguments"]) == action
    assert listed == {"role": "tool", "tool_call_id": "c", "content": "README.md"}
    assert patch["tool_calls"][0]["function"]["name"] == "apply_patch"
    assert patched == {"role": "tool", "tool_call_id": "p", "content": '"completed"'}


def test_a_grammar_is_a_hint_to_the_model_and_a_remark_to_the_client() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/s"}
    tools: list[Json] = [
        {"type": "custom", "name": "apply_patch", "description": "patch", "format": grammar},
        {"type": "local_shell"},
    ]
    with remarks() as found:
        shown = chat_request(parse(ResponsesRequest, {"input": "x", "tools": tools})).tool_dicts() or []

    assert [tool["function"]["name"] for tool in shown] == ["apply_patch"]
    assert shown[0]["function"]["description"] == "patch\n\nThe input must match this lark grammar:\nstart: /.+/s"
    assert ["apply_patch" in found[0], "local_shell" in found[1]] == [True, True]


def test_calls_show_their_name_before_their_arguments(tmp_path: Path) -> None:
    template = "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}{% endfor %}."
    server = open_server(make_model_folder(tmp_path / "json", template=template), Settings())
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"b": 1, "a": 2}'}

    assert prompt(server, input=[call]) == (
        '{"id": "c", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}, "type": "function"}.'
    )


@pytest.mark.parametrize("status", ["in_progress", "incomplete"])
def test_an_unfinished_last_message_is_continued(server: ServedModel, status: str) -> None:
    item = {"type": "message", "role": "assistant", "id": "m", "status": status}
    text = prompt(server, input=[{**item, "content": [{"type": "output_text", "text": "The answer"}]}])

    assert text.endswith("<|im_start|>assistant\nThe answer")


def test_a_finished_last_message_is_not_continued(server: ServedModel) -> None:
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
    space = {"type": "namespace", "name": "ns", "description": "", "tools": [{"type": "custom", "name": "b"}]}
    chat = chat_request(parse(ResponsesRequest, {"input": "x", "tools": [WEATHER, space], "tool_choice": choice}))

    assert (chat.named_tool or chat.choice()) == expected
    assert [tool["function"]["name"] for tool in chat.tool_dicts() or ()] == names


def test_a_demanded_call_is_constrained_and_needs_no_flag(server: ServedModel, parsed: ServedModel) -> None:
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
def test_text_formats(server: ServedModel, form: Json, expected: Json) -> None:
    constraint = render(server, text={"format": form})["sampling_params"].get("structured_outputs") or {}

    assert {key: constraint[key] for key in ("json", "json_object") if constraint.get(key)} == expected


def test_sampling_fields_and_efforts(server: ServedModel) -> None:
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


def test_truncation_auto_cuts_on_the_left(server: ServedModel) -> None:
    answer = render(server, input="word " * 5000, truncation="auto")

    assert len(answer["token_ids"]) == server.max_model_len - 1
    assert answer["sampling_params"]["max_tokens"] == 1
