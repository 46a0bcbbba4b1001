"""DeepSeek V3.2 and V4: what each kind of message becomes (wire.md 3.7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.errors import BadRequest
from renderlayer.render.chat import render_chat
from renderlayer.render.completion import render_completion
from renderlayer.render.messages.probes import disabled_thinking_effort, system_stays_inline
from renderlayer.render.messages.render import render_messages
from renderlayer.render.responses.render import render_responses
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.messages import MessagesRequest
from renderlayer.wire.responses import ResponsesRequest
from tests.models import make_model_folder, open_server

CONTROL = (
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<think>",
    "</think>",
    "｜DSML｜",
    "<｜fim▁begin｜>",
    "<｜fim▁hole｜>",
    "<｜fim▁end｜>",
)
BEGIN, END, USER, ASSISTANT = CONTROL[:4]
HIGH, MAX = "Reasoning Effort: Absolute maximum", "Reasoning Effort: Beyond maximum"
HELLO = {"role": "user", "content": "Hello"}
TOOL = {
    "type": "function",
    "function": {"name": "find", "description": "Find", "parameters": {"type": "object", "properties": {}}},
}
SCHEMA = '{"name": "find", "description": "Find", "parameters": {"type": "object", "properties": {}}}'


def calls(*names: str, **arguments: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "reasoning": "Let me see.",
        "tool_calls": [
            {"id": f"call-{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name in names
        ],
    }


def result(name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call-{name}", "content": text}


@pytest.fixture(scope="module")
def v32(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    return served(tmp_path_factory.mktemp("deepseek") / "v32", "DeepseekV32ForCausalLM")


@pytest.fixture(scope="module")
def v4(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    return served(tmp_path_factory.mktemp("deepseek") / "v4", "DeepseekV4ForCausalLM")


def served(folder: Path, architecture: str) -> ServedModel:
    config = {"model_type": "deepseek", "architectures": [architecture]}
    make_model_folder(folder, config=config, special_tokens=(*CONTROL, "<|im_end|>", "<|endoftext|>"))
    auto = Settings(tool_call_parser="auto", enable_auto_tool_choice=True, reasoning_parser="auto")
    return open_server(folder, auto)


def prompt(server: ServedModel, *messages: dict[str, Any], **fields: Any) -> str:
    """The prompt of a chat request; kwargs such as `thinking` go into chat_template_kwargs."""
    kwargs = {key: fields.pop(key) for key in ("thinking", "drop_thinking") if key in fields}
    body = {"messages": list(messages), "chat_template_kwargs": kwargs, **fields}
    token_ids = render_chat(parse(ChatCompletionRequest, body), server)["token_ids"]
    return server.model.tokenizer.decode(token_ids, skip_special_tokens=False)


class TestV32:
    def test_chat_is_the_default(self, v32: ServedModel) -> None:
        assert prompt(v32, HELLO) == f"{BEGIN}{USER}Hello{ASSISTANT}</think>"

    @pytest.mark.parametrize("fields", [{"thinking": True}, {"reasoning_effort": "low"}])
    def test_thinking_is_switched_by_kwargs(self, v32: ServedModel, fields: dict[str, Any]) -> None:
        assert prompt(v32, HELLO, **fields) == f"{BEGIN}{USER}Hello{ASSISTANT}<think>"

    def test_reasoning_shows_behind_the_last_user_message_only(self, v32: ServedModel) -> None:
        answer = {"role": "assistant", "content": "Hi.", "reasoning": "Greet."}

        text = prompt(v32, HELLO, answer, {"role": "user", "content": "Go"}, answer, thinking=True)

        assert text == f"{BEGIN}{USER}Hello{ASSISTANT}</think>Hi.{END}{USER}Go{ASSISTANT}<think>Greet.</think>Hi.{END}"

    def test_an_answer_without_reasoning_is_refused_where_the_model_thinks(self, v32: ServedModel) -> None:
        with pytest.raises(BadRequest, match="reasoning or tool calls"):
            prompt(v32, HELLO, {"role": "assistant", "content": "Hi."}, thinking=True)

    def test_calls_and_results(self, v32: ServedModel) -> None:
        text = prompt(v32, HELLO, calls("find", "get", city="Köln", days=[1]), result("find", "a"), result("get", "b"))

        parameters = (
            '<｜DSML｜parameter name="city" string="true">Köln</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="days" string="false">[1]</｜DSML｜parameter>'
        )
        invokes = "\n".join(
            f'<｜DSML｜invoke name="{name}">\n{parameters}\n</｜DSML｜invoke>' for name in ("find", "get")
        )
        assert text == (
            f"{BEGIN}{USER}Hello{ASSISTANT}</think>"
            f"\n\n<｜DSML｜function_calls>\n{invokes}\n</｜DSML｜function_calls>{END}"
            "\n\n<function_results>\n<result>a</result>\n<result>b</result>\n</function_results>\n\n</think>"
        )

    def test_the_last_result_lets_the_model_think_on(self, v32: ServedModel) -> None:
        text = prompt(v32, HELLO, calls("find"), result("find", "a"), thinking=True)

        assert f"{ASSISTANT}<think>Let me see.</think>\n\n<｜DSML｜function_calls>" in text
        assert text.endswith("<result>a</result>\n</function_results>\n\n<think>")

    def test_a_call_without_arguments_has_an_empty_line(self, v32: ServedModel) -> None:
        assert '<｜DSML｜invoke name="find">\n\n</｜DSML｜invoke>' in prompt(v32, HELLO, calls("find"))

    @pytest.mark.parametrize("before", [HELLO, calls("find")], ids=["none", "one"])
    def test_more_results_than_calls_are_refused(self, v32: ServedModel, before: dict[str, Any]) -> None:
        with pytest.raises(BadRequest, match="No tool calls but found tool output"):
            prompt(v32, before, result("find", "a"), result("find", "b"))

    def test_tools_follow_the_system_text(self, v32: ServedModel) -> None:
        text = prompt(v32, {"role": "system", "content": "Be brief."}, HELLO, tools=[TOOL])

        assert text.startswith(f"{BEGIN}Be brief.\n\n## Tools\n\nYou have access to a set of tools you can use")
        assert text.endswith(f"\n<functions>\n{SCHEMA}\n</functions>\n{USER}Hello{ASSISTANT}</think>")

    def test_tools_without_a_system_message_make_one(self, v32: ServedModel) -> None:
        assert prompt(v32, HELLO, tools=[TOOL]).startswith(f"{BEGIN}\n\n## Tools")

    def test_a_developer_message_is_a_user_message_with_a_frame(self, v32: ServedModel) -> None:
        text = prompt(v32, {"role": "developer", "content": "Rhyme", "tools": [TOOL]}, thinking=True)

        assert text.startswith(f"{BEGIN}{USER}\n\n## Tools")
        assert text.endswith(f"</functions>\n\n\n# The user's message is: Rhyme{ASSISTANT}<think>")

    def test_thinking_drops_developer_messages_before_the_last_user_message(self, v32: ServedModel) -> None:
        text = prompt(v32, {"role": "developer", "content": "Rhyme"}, HELLO, thinking=True)

        assert text == f"{BEGIN}{USER}Hello{ASSISTANT}<think>"

    def test_generation_flags_mean_nothing(self, v32: ServedModel) -> None:
        talk = (HELLO, {"role": "assistant", "content": "Hi"})
        flags = {"add_generation_prompt": False, "continue_final_message": True}

        assert prompt(v32, *talk, **flags) == prompt(v32, *talk) == f"{BEGIN}{USER}Hello{ASSISTANT}</think>Hi{END}"


class TestV4:
    def test_the_model_thinks_hard_by_default(self, v4: ServedModel) -> None:
        text = prompt(v4, HELLO)

        assert text.startswith(BEGIN + HIGH)
        assert text.endswith(f"left unchecked.\n\n{USER}Hello{ASSISTANT}<think>")

    @pytest.mark.parametrize(
        ("effort", "start"),
        [("minimal", USER), ("low", USER), ("medium", USER), ("high", HIGH), ("xhigh", HIGH), ("max", MAX)],
    )
    def test_efforts(self, v4: ServedModel, effort: str, start: str) -> None:
        assert prompt(v4, HELLO, reasoning_effort=effort).startswith(BEGIN + start)

    @pytest.mark.parametrize("fields", [{"thinking": False}, {"reasoning_effort": "none"}])
    def test_thinking_can_be_switched_off(self, v4: ServedModel, fields: dict[str, Any]) -> None:
        assert prompt(v4, HELLO, **fields) == f"{BEGIN}{USER}Hello{ASSISTANT}</think>"

    def test_results_join_the_user_in_the_order_of_the_calls(self, v4: ServedModel) -> None:
        talk = (calls("find", "get"), result("get", "b"), result("find", "a"), {"role": "user", "content": "Well?"})

        text = prompt(v4, HELLO, *talk, thinking=False)

        results = "<tool_result>a</tool_result>\n\n<tool_result>b</tool_result>"
        assert text.endswith(f"</｜DSML｜tool_calls>{END}{USER}{results}\n\nWell?{ASSISTANT}</think>")

    def test_old_reasoning_goes_unless_there_are_tools(self, v4: ServedModel) -> None:
        talk = (HELLO, {"role": "assistant", "content": "Hi.", "reasoning": "Greet."}, HELLO)

        assert f"{ASSISTANT}</think>Hi." in prompt(v4, *talk)
        assert f"{ASSISTANT}<think>Greet.</think>Hi." in prompt(v4, *talk, drop_thinking=False)
        assert f"{ASSISTANT}<think>Greet.</think>Hi." in prompt(v4, *talk, tools=[TOOL])

    def test_old_developer_messages_go_with_the_reasoning(self, v4: ServedModel) -> None:
        talk = ({"role": "developer", "content": "Rhyme"}, {"role": "assistant", "content": "Hi."}, HELLO)

        assert prompt(v4, *talk, reasoning_effort="low") == f"{BEGIN}Hi.{END}{USER}Hello{ASSISTANT}<think>"
        assert prompt(v4, *talk, thinking=False).startswith(f"{BEGIN}{USER}Rhyme{ASSISTANT}</think>Hi.")

    def test_tools_go_to_the_first_system_message(self, v4: ServedModel) -> None:
        system = {"role": "system", "content": "Be brief."}

        text = prompt(v4, HELLO, system, tools=[TOOL], thinking=False)

        assert text.startswith(f"{BEGIN}{USER}HelloBe brief.\n\n## Tools\n\nYou have access to a set of tools to help")
        assert text.endswith(f"parameter schemas to invoke tool calls.\n{ASSISTANT}</think>")
        assert f"\n\n{SCHEMA}\n\n" in text

    def test_parts_of_a_message_are_paragraphs(self, v4: ServedModel) -> None:
        parts = [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]

        assert f"{USER}One\n\nTwo{ASSISTANT}" in prompt(v4, {"role": "user", "content": parts})

    def test_a_task_asks_for_its_own_token(self, v4: ServedModel) -> None:
        talk = ({**HELLO, "task": "title"}, {"role": "assistant", "content": "Greeting"}, {**HELLO, "task": "action"})

        text = prompt(v4, *talk, reasoning_effort="low")

        assert text == f"{BEGIN}{USER}Hello<｜title｜>Greeting{END}{USER}Hello{ASSISTANT}<think><｜action｜>"

    @pytest.mark.parametrize(
        "message", [{**HELLO, "task": "x"}, {"role": "x", "content": "Hello"}], ids=["task", "role"]
    )
    def test_what_the_family_does_not_know_is_refused(self, v4: ServedModel, message: dict[str, Any]) -> None:
        with pytest.raises(BadRequest):
            prompt(v4, message)

    def test_infill(self, v4: ServedModel) -> None:
        body = {"prompt": ["def f(", "x = "], "suffix": "\nf()", "add_special_tokens": False}

        requests = render_completion(parse(CompletionRequest, body), v4)

        texts = [v4.model.tokenizer.decode(row["token_ids"], skip_special_tokens=False) for row in requests]
        assert texts == [f"<｜fim▁begin｜>{start}<｜fim▁hole｜>\nf()<｜fim▁end｜>" for start in ("def f(", "x = ")]

    @pytest.mark.parametrize("fields", [{"echo": True}, {"prompt": [1, 2]}, {"truncate_prompt_tokens": 4}])
    def test_infill_takes_whole_texts(self, v4: ServedModel, fields: dict[str, Any]) -> None:
        with pytest.raises(BadRequest) as caught:
            render_completion(parse(CompletionRequest, {"prompt": "a", "suffix": "b", **fields}), v4)

        assert caught.value.param == "suffix"


def test_v32_has_no_infill(v32: ServedModel) -> None:
    with pytest.raises(BadRequest, match="FIM"):
        render_completion(parse(CompletionRequest, {"prompt": "a", "suffix": "b"}), v32)


def test_other_dialects_give_the_same_prompt(v4: ServedModel) -> None:
    body = {"model": v4.names[0], "max_tokens": 5, "messages": [HELLO]}
    through_messages = render_messages(parse(MessagesRequest, body), v4)
    through_responses = render_responses(parse(ResponsesRequest, {"input": "Hello"}), v4)

    chat = render_chat(parse(ChatCompletionRequest, {"messages": [HELLO]}), v4)
    assert through_messages["token_ids"] == through_responses["token_ids"] == chat["token_ids"]


def test_messages_keep_system_text_between_turns(v4: ServedModel) -> None:
    assert v4.derived(system_stays_inline)
    assert v4.derived(disabled_thinking_effort) == "none"


@pytest.mark.parametrize("name", ["v32", "v4"])
def test_suitable_parsers(name: str, request: pytest.FixtureRequest) -> None:
    server: ServedModel = request.getfixturevalue(name)

    assert server.parsers == (f"deepseek_{name}", {"v32": "deepseek_v3", "v4": "deepseek_v4"}[name])


def test_offsets_count_in_the_written_text(v4: ServedModel) -> None:
    body = {"messages": [HELLO], "return_token_offsets": True, "reasoning_effort": "low"}

    offsets = render_chat(parse(ChatCompletionRequest, body), v4)["token_offsets"]

    whole = len(prompt(v4, HELLO, reasoning_effort="low"))
    assert tuple(offsets[-1]) == (whole - len("<think>"), whole)
