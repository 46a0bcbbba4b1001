"""`/v1/messages/render`: what an Anthropic request makes of the prompt and of the engine's request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from renderlayer.render.messages.render import count_message_tokens, render_messages
from renderlayer.render.messages.request import chat_request
from renderlayer.request_context import remarks
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.common.base import parse
from renderlayer.wire.messages import CountTokensRequest, MessagesRequest
from tests.models import CHATML, make_model_folder, open_server

Json = dict[str, Any]
HELLO: list[Json] = [{"role": "user", "content": "Hello"}]
WEATHER: Json = {"name": "get_weather", "input_schema": {"properties": {}}}
STRICT_TURNS = """\
{%- for message in messages %}{% if message.role == 'system' and not loop.first %}{{ raise_exception('misplaced') }}
{%- endif %}[{{ message.role }}]{{ message.content }}{% endfor %}"""


@pytest.fixture(scope="module")
def parsed(model_folder: Path) -> ServedModel:
    return open_server(model_folder, Settings(tool_call_parser="hermes", enable_auto_tool_choice=True))


def request(**body: Any) -> MessagesRequest:
    return parse(MessagesRequest, {"model": "small", "max_tokens": 64, "messages": HELLO, **body})


def render(server: ServedModel, **body: Any) -> Json:
    server = ServedModel(server.model, replace(server.settings, served_model_name=["small"]))
    return render_messages(request(**body), server)


def prompt(server: ServedModel, **body: Any) -> str:
    return server.model.tokenizer.decode(render(server, **body)["token_ids"], skip_special_tokens=False)


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def turn(server: ServedModel, role: str, *blocks: Json) -> list[Json]:
    return chat_request(request(messages=[{"role": role, "content": list(blocks)}]), server).messages


def test_system_blocks_are_joined_and_the_billing_line_is_dropped(server: ServedModel) -> None:
    billing = "x-anthropic-billing-header: cc=1"
    blocks = [{"type": "text", "text": text} for text in (billing, "A.", "B.")]

    assert prompt(server, system=blocks).startswith("<|im_start|>system\nA.B.<|im_end|>")
    assert prompt(server, system=f"{billing}\nA.").startswith("<|im_start|>system\nA.<|im_end|>")
    assert prompt(server, system=blocks[:1]) == prompt(server)


def test_an_assistant_turn(server: ServedModel) -> None:
    assert turn(
        server,
        "assistant",
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "redacted_thinking", "data": "…"},
        {"type": "thinking", "thinking": "b", "signature": "s"},
        {"type": "text", "text": "Checking", "cache_control": {"type": "ephemeral"}},
        {"type": "tool_use", "id": "t", "name": "get", "input": {"city": "Köln"}},
    ) == [
        {
            "role": "assistant",
            "content": "Checking",
            "reasoning": "ab",
            "tool_calls": [
                {"id": "t", "function": {"arguments": r'{"city": "K\u00f6ln"}', "name": "get"}, "type": "function"}
            ],
        }
    ]


def test_tool_results_come_before_what_the_user_says(server: ServedModel) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    inner = [{"type": "text", "text": "21"}, image, {"type": "text", "text": "C"}]
    url = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}

    assert turn(
        server,
        "user",
        {"type": "text", "text": "thanks"},
        url,
        {"type": "tool_result", "tool_use_id": "t", "content": inner, "is_error": True},
        {"type": "tool_result", "tool_use_id": "u"},
    ) == [
        {"role": "tool", "tool_call_id": "t", "content": "21\nC"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "tool", "tool_call_id": "u", "content": ""},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "thanks"},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            ],
        },
    ]


def test_tools_change_in_the_course_of_a_conversation(server: ServedModel) -> None:
    tools = [{**WEATHER, "strict": True}, *({**WEATHER, "name": name, "defer_loading": True} for name in "ab")]
    changes: list[Json] = [
        {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "b"}},
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "a"}},
        {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {**WEATHER, "name": "c"}}},
    ]
    turns = [*HELLO, {"role": "system", "content": changes}]
    known = chat_request(request(messages=HELLO, tools=tools), server).tool_dicts() or []
    changed = chat_request(request(messages=turns, tools=tools), server).tool_dicts() or []

    assert [tool["function"].get("defer_loading") for tool in known] == [None, True, True]
    assert known[0]["function"]["strict"] is True
    assert [tool["function"]["name"] for tool in changed] == ["get_weather", "b", "c"]
    assert "defer_loading" not in changed[1]["function"]


def test_a_found_tool_is_named_to_the_model(server: ServedModel) -> None:
    found = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "a"}]}

    assert turn(server, "user", found) == [
        {"role": "tool", "tool_call_id": "t", "content": ""},
        {"role": "tool", "tool_call_id": "t", "content": [{"type": "tool_reference", "name": "a"}]},
    ]
    assert "<|im_start|>tool\na<|im_end|>" in prompt(server, messages=[{"role": "user", "content": [found]}])


def test_a_turn_without_content_is_left_out_of_the_user_and_kept_of_the_assistant(server: ServedModel) -> None:
    assert turn(server, "user") == []
    assert turn(server, "user", {"type": "text"}, {"type": "text", "text": "x"}) == [{"role": "user", "content": "x"}]
    assert turn(server, "assistant") == [{"role": "assistant"}]


def test_a_last_turn_of_the_assistant_is_continued(server: ServedModel) -> None:
    begun = [*HELLO, {"role": "assistant", "content": "1, 2,"}]
    called = [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]

    assert prompt(server, messages=begun).endswith("<|im_start|>assistant\n1, 2,")
    assert prompt(server, messages=[*HELLO, {"role": "assistant", "content": called}]).endswith("assistant\n")
    nothing = {"role": "user", "content": [{"type": "tool_use"}]}  # of which nothing is left
    assert prompt(server, messages=[*begun, nothing]).endswith("1, 2,<|im_end|>\n<|im_start|>assistant\n")


def test_what_a_provider_ran_becomes_calls_results_and_text(server: ServedModel) -> None:
    found = {"type": "web_search_result", "title": "Rome", "url": "https://r.it", "encrypted_content": "Eo8B"}
    said = turn(
        server,
        "assistant",
        {"type": "text", "text": "I look."},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "Rome"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [found]},
        {"type": "text", "text": "Done."},
    )
    document = {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "D"}}
    search = {
        "type": "search_result",
        "title": "S",
        "source": "https://s.it",
        "content": [{"type": "text", "text": "R"}],
    }

    assert [message["role"] for message in said] == ["assistant", "tool", "assistant"]
    assert said[0]["tool_calls"][0]["function"] == {"name": "web_search", "arguments": '{"query": "Rome"}'}
    assert said[1] == {"role": "tool", "tool_call_id": "s", "content": "Rome\nhttps://r.it"}
    assert turn(server, "user", document, search) == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "T\nD"}, {"type": "text", "text": "S\nhttps://s.it\nR"}],
        }
    ]


def test_tools_that_a_provider_runs_are_left_out_with_a_remark(server: ServedModel) -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
    turns = [{"role": "user", "content": [{"type": "text", "text": "Hi"}, pdf]}]
    with remarks() as found:
        chat = chat_request(request(messages=turns, tools=[search, WEATHER]), server)

    assert [tool["function"]["name"] for tool in chat.tool_dicts() or ()] == ["get_weather"]
    assert [("web_search_20250305" in text, "PDF" in text) for text in found] == [(False, True), (True, False)]


def test_counted_tokens_are_those_of_the_prompt(parsed: ServedModel) -> None:
    body = {"model": parsed.names[0], "messages": HELLO, "system": "Be brief.", "tools": [WEATHER]}
    counted = count_message_tokens(parse(CountTokensRequest, body), parsed)

    assert counted == {"input_tokens": len(render(parsed, system="Be brief.", tools=[WEATHER])["token_ids"])}


def test_a_schema_is_an_object_by_default(server: ServedModel) -> None:
    chat = chat_request(request(tools=[WEATHER]), server)

    assert chat.tool_dicts() == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": None,
                "parameters": {"properties": {}, "type": "object"},
            },
        }
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, "auto"),
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "get_weather"}, {"function": {"name": "get_weather"}, "type": "function"}),
    ],
)
def test_tool_choices(parsed: ServedModel, choice: Json | None, expected: Any) -> None:
    context = render(parsed, tools=[WEATHER], tool_choice=choice)["parse_context"]

    assert context["tool_choice"] == expected
    assert context["parallel_tool_calls"] is True


def test_one_call_at_a_time(parsed: ServedModel) -> None:
    answer = render(parsed, tools=[WEATHER], tool_choice={"type": "auto", "disable_parallel_tool_use": True})

    assert answer["parse_context"]["parallel_tool_calls"] is False


def test_without_tools_there_is_no_choice(server: ServedModel) -> None:
    assert render(server)["parse_context"]["tool_choice"] is None


def test_options(server: ServedModel) -> None:
    answer = render(
        server,
        max_tokens=2000,
        temperature=0.3,
        top_k=5,
        stop_sequences=["\n\nHuman:"],
        stream=True,
        thinking={"type": "enabled", "budget_tokens": 1024},
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
    )
    params = answer["sampling_params"]

    assert (params["max_tokens"], params["temperature"], params["top_k"]) == (2000, 0.3, 5)
    assert params["stop"] == ["\n\nHuman:"]
    assert params["thinking_token_budget"] == 1024
    assert params["structured_outputs"]["json"] == {"type": "object"}
    assert answer["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert answer["parse_context"]["chat_template_kwargs"]["reasoning_effort"] == "low"
    assert answer["request_id"].startswith("chatcmpl-")


INLINE = [*HELLO, {"role": "system", "content": "inline"}, {"role": "user", "content": "Go"}]


def test_inline_system_messages_stay_where_the_template_takes_them(server: ServedModel) -> None:
    assert "Hello<|im_end|>\n<|im_start|>system\ninline<|im_end|>" in prompt(server, messages=INLINE)


@pytest.mark.parametrize("template", [STRICT_TURNS, "{{ messages[0].role }}{{ messages[0].content }}"])
def test_inline_system_messages_are_merged_where_the_template_refuses_or_loses_them(
    tmp_path: Path, template: str
) -> None:
    server = open_server(make_model_folder(tmp_path / "strict", template=template), Settings())

    assert "A.inline" in prompt(server, messages=INLINE, system="A.")


@pytest.mark.parametrize(
    ("template", "setting", "expected"),
    [
        (CHATML, "auto", "none"),
        ("{{ messages[0].content }}", "auto", "low"),
        (
            "{% if reasoning_effort == 'none' %}{{ raise_exception('no') }}{% endif %}x{{ reasoning_effort }}",
            "auto",
            "low",
        ),
        ("{{ messages[0].content }}", "none", "none"),
        (CHATML, "low", "low"),
    ],
)
def test_disabled_thinking_is_an_effort_that_the_template_knows(
    tmp_path: Path, template: str, setting: str, expected: str
) -> None:
    settings = Settings(anthropic_disabled_thinking_effort=setting)
    server = open_server(make_model_folder(tmp_path / "model", template=template), settings)

    assert chat_request(request(thinking={"type": "disabled"}), server).reasoning_effort == expected


def test_a_last_turn_that_the_template_rewrites_is_closed(tmp_path: Path) -> None:
    turn = "[{{ m.role }}]{{ m.content | upper }}"
    template = f"{{% for m in messages %}}{turn}{{% endfor %}}{{% if add_generation_prompt %}}>{{% endif %}}"
    server = open_server(make_model_folder(tmp_path / "upper", template=template), Settings())
    turns = [*HELLO, {"role": "assistant", "content": "one, two"}]

    with remarks() as found:
        assert prompt(server, messages=turns).endswith("[assistant]ONE, TWO>")
    assert len(found) == 1
