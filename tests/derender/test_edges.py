"""Edges of answers: explicit nulls, one stop token, broken bytes, calls that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.derender import derender_chat, derender_completion, stream_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.derender.client import put_together, replayed
from tests.derender.engine import PROMPT, Json, choice, encoded, events, response, split
from tests.derender.test_messages_answer import answer as message
from tests.derender.test_messages_answer import put_together as message_of
from tests.derender.test_messages_answer import streamed as message_events

REQUEST: Json = {"messages": [{"role": "user", "content": "Hello"}]}


def chat(server: ServedModel, token_ids: list[int], request: Json | None = None, **fields: Any) -> Json:
    body = {
        "generate_response": response({"index": 0, "token_ids": token_ids, **fields}),
        "chat_request": {**REQUEST, **(request or {})},
        "prompt_token_ids": encoded(server, PROMPT),
    }
    found: Json = derender_chat(body, server)["choices"][0]
    return found


def completion(server: ServedModel, token_ids: list[int], **fields: Any) -> Json:
    generated = response({"index": 0, "token_ids": token_ids, **fields})
    found: Json = derender_completion({"generate_responses": [generated]}, server)["choices"][0]
    return found


def test_a_finish_reason_that_is_null_is_no_stop(server: ServedModel) -> None:
    token_ids = encoded(server, "one two<|im_end|>")

    assert completion(server, token_ids)["finish_reason"] == "stop"
    assert completion(server, token_ids, finish_reason=None)["finish_reason"] is None
    assert chat(server, token_ids, {"stop": "two"}, finish_reason=None)["message"]["content"] == "one two"
    assert chat(server, token_ids, {"stop": "two"})["message"]["content"] == "one "


@pytest.mark.parametrize("given", [{}, {"content": None}])
def test_logprobs_without_content_are_empty(server: ServedModel, given: Json) -> None:
    token_ids = encoded(server, "one")

    assert completion(server, token_ids, logprobs=given)["logprobs"] == {
        "text_offset": [],
        "token_logprobs": [],
        "tokens": [],
        "top_logprobs": [],
    }
    assert chat(server, token_ids, logprobs=given)["logprobs"] == {"content": None}
    assert chat(server, token_ids)["logprobs"] is None


def test_an_answer_of_one_stop_token(server: ServedModel, parsed_server: ServedModel) -> None:
    stop = encoded(server, "<|im_end|>")
    settings = Settings(served_model_name=["small"], tool_call_parser="hermes", enable_auto_tool_choice=True)
    tools = ServedModel(parsed_server.model, settings)

    assert chat(server, stop)["message"]["content"] == ""
    assert chat(tools, stop)["message"]["content"] == ""
    assert chat(parsed_server, stop)["message"]["content"] is None
    assert completion(server, stop)["text"] == ""


@pytest.mark.parametrize("sizes", [[1] * 20, [2] * 20, [50]])
@pytest.mark.parametrize("stop", ["stop", "\ufffdst"])
def test_a_stop_string_behind_broken_bytes(server: ServedModel, stop: str, sizes: list[int]) -> None:
    byte = server.model.vocabulary.id_of("ð")  # the first byte of four
    assert byte is not None
    token_ids = [*encoded(server, "Go "), byte, *encoded(server, "stop now")]
    request = {**REQUEST, "stop": [stop]}
    right = "Go " + "\ufffdstop"[: "\ufffdstop".index(stop)]

    told = chat(server, token_ids, request)
    stream = [{"chat_request": request}, *events(split(token_ids, sizes))]

    assert (told["message"]["content"], told["stop_reason"]) == (right, stop)
    assert put_together(stream_chat(stream, server))["content"] == right


@pytest.mark.parametrize("arguments", ['{"cmd": }', '"ls"', '["ls"]', "17", '"{\\"cmd\\": \\"ls\\"}"'])
def test_a_call_whose_arguments_are_no_object_is_the_same_text_whole_and_streamed(
    parsed_server: ServedModel, arguments: str
) -> None:
    text = f'</think>\n\n<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'
    told = message(parsed_server, text)
    token_ids = encoded(parsed_server, text)

    assert [block["type"] for block in told["content"]] == ["text"]
    assert (told["content"][0]["text"].strip(), told["stop_reason"]) == (text[len("</think>\n\n") :], "end_turn")
    for size in (1, 3, 50):
        parts = list(events(split(token_ids, [size] * 200)))
        streamed = message_of(message_events(parsed_server, parts))
        assert [block["text"] for block in streamed["content"]] == [told["content"][0]["text"]]
        assert streamed["stop_reason"] == "end_turn"


@pytest.mark.parametrize("size", [1, 3, 50])
def test_the_input_of_a_custom_tool_may_be_a_string_alone(parsed_server: ServedModel, size: int) -> None:
    text = f'<tool_call>\n{{"name": "shell", "arguments": {json.dumps("ls -l | wc")}}}\n</tool_call>'
    request = {**REQUEST, "tools": [{"type": "custom", "custom": {"name": "shell"}}]}
    token_ids = encoded(parsed_server, f"</think>{text}")
    opening = {"chat_request": request, "prompt_token_ids": encoded(parsed_server, PROMPT)}

    (call,) = chat(parsed_server, token_ids, request)["message"]["tool_calls"]
    chunks = replayed(list(events(split(token_ids, [size] * 200))), parsed_server, opening)

    assert call["custom"] == {"name": "shell", "input": "ls -l | wc"}
    parts = [part["custom"] for chunk in chunks for part in chunk["choices"][0]["delta"].get("tool_calls") or ()]
    assert "".join(part.get("input") or "" for part in parts) == "ls -l | wc"


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_character_that_the_prompt_began_is_no_text_as_in_the_reference(server: ServedModel, cut: int) -> None:
    smile = [token_id for letter in "ðŁĺĤ" if (token_id := server.model.vocabulary.id_of(letter)) is not None]
    prompt, rest = [*encoded(server, PROMPT), *smile[:cut]], smile[cut:]
    token_ids = [*rest, *encoded(server, " yes")]
    opening = {"chat_request": REQUEST, "prompt_token_ids": prompt}

    whole = derender_chat({"generate_response": response(choice(token_ids)), **opening}, server)
    chunks = replayed(list(events(split(token_ids, [1] * 20))), server, opening)

    assert whole["choices"][0]["message"]["content"] == put_together(chunks)["content"] == " yes"
