"""Whole chat answers: what goes in, what comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.derender import derender_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.derender.engine import PROMPT, Json, choice, encoded, logprobs, response
from tests.models import open_server

REQUEST: Json = {"messages": [{"role": "user", "content": "Hello"}]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def answered(server: ServedModel, text: str, request: Json | None = None, **fields: Any) -> Json:
    """The first choice of the answer to a text."""
    generated = response(choice(encoded(server, text), **fields))
    body: Json = {"generate_response": generated}
    if request is not None:
        body |= {"chat_request": {**REQUEST, **request}, "prompt_token_ids": encoded(server, PROMPT)}
    first: Json = derender_chat(body, server)["choices"][0]
    return first


def test_a_plain_answer_has_every_key_in_order(server: ServedModel) -> None:
    token_ids = encoded(server, "Hello world<|im_end|>")
    body = {"model": "small", "generate_response": response(choice(token_ids)), "prompt_tokens": 9}

    answer = derender_chat(body, server)
    assert isinstance(answer.pop("created"), int)
    assert json.dumps(answer) == json.dumps(
        {
            "id": "generate-tokens-1",
            "object": "chat.completion",
            "model": "small",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "Hello world",
                        "refusal": None,
                        "annotations": None,
                        "audio": None,
                        "function_call": None,
                        "reasoning": None,
                    },
                    "logprobs": None,
                    "finish_reason": "stop",
                    "stop_reason": None,
                    "token_ids": None,
                    "routed_experts": None,
                    "weight_versions": None,
                }
            ],
            "service_tier": None,
            "system_fingerprint": None,
            "usage": {
                "prompt_tokens": 9,
                "total_tokens": 9 + len(token_ids),
                "completion_tokens": len(token_ids),
                "prompt_tokens_details": None,
                "completion_tokens_details": None,
            },
            "prompt_logprobs": None,
            "prompt_token_ids": None,
            "prompt_text": None,
            "kv_transfer_params": None,
            "ec_transfer_params": None,
            "metrics": None,
        }
    )


def test_what_the_engine_says_beside_the_tokens_is_passed_on(server: ServedModel) -> None:
    generated = response(
        choice([1, 2]),
        usage={"prompt_tokens": 7, "total_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
        prompt_logprobs=[None, {"5": {"logprob": -0.5, "rank": 1, "decoded_token": None}}],
        prompt_token_ids=[5, 6],
        kv_transfer_params={"a": 1},
        ec_transfer_params={"b": 2},
        metrics={"c": 3},
    )
    answer = derender_chat(
        {"generate_response": generated, "chat_request": {**REQUEST, "return_token_ids": True}}, server
    )

    assert answer["usage"]["prompt_tokens"] == 7
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}
    assert answer["prompt_logprobs"] == [None, {"5": {"logprob": -0.5, "rank": 1, "decoded_token": None}}]
    assert (answer["kv_transfer_params"], answer["ec_transfer_params"], answer["metrics"]) == (
        {"a": 1},
        {"b": 2},
        {"c": 3},
    )
    assert (answer["prompt_token_ids"], answer["choices"][0]["token_ids"]) == ([5, 6], [1, 2])


@pytest.mark.parametrize(
    ("end", "fields", "request_", "content", "stop_reason"),
    [
        ("<|im_end|>", {}, {}, "Hi", None),
        ("<|endoftext|>", {}, {}, "Hi", "<|endoftext|>"),
        ("<|endoftext|>", {"finish_reason": "length"}, {"skip_special_tokens": False}, "Hi<|endoftext|>", None),
        ("<|im_end|>", {}, {"ignore_eos": True, "skip_special_tokens": False}, "Hi<|im_end|>", None),
        ("<|im_end|>", {}, {"include_stop_str_in_output": True, "skip_special_tokens": False}, "Hi<|im_end|>", None),
        ("!", {}, {}, "Hi!", None),
        ("!", {}, {"stop_token_ids": ["!"]}, "Hi", "!"),
        ("!", {"stop_reason": "!"}, {}, "Hi", "!"),
        ("!", {"stop_reason": "?"}, {}, "Hi!", "?"),
        ("<|endoftext|>", {"finish_reason": None}, {}, "Hi", None),
        ("!", {"finish_reason": None, "stop_reason": "!"}, {}, "Hi!", "!"),
    ],
)
def test_the_stop_token_is_no_text(
    server: ServedModel, end: str, fields: Json, request_: Json, content: str, stop_reason: str | None
) -> None:
    def known(text: str | None) -> int | None:
        return None if text is None else encoded(server, text)[0]

    fields = {name: known(value) if name == "stop_reason" else value for name, value in fields.items()}
    request_ = {
        name: list(map(known, value)) if name == "stop_token_ids" else value for name, value in request_.items()
    }

    answer = answered(server, "Hi" + end, request_, **fields)
    assert answer["message"]["content"] == content
    assert answer["stop_reason"] == known(stop_reason)


@pytest.mark.parametrize(
    ("text", "request_", "fields", "content", "stop_reason"),
    [
        ("one two three", {"stop": "two"}, {}, "one ", "two"),
        ("one two three", {"stop": ["three", "two"]}, {}, "one ", "two"),
        ("one two three", {"stop": ["wo t", "two"]}, {}, "one ", "two"),
        ("one two three", {"stop": ["o", "wo"]}, {"stop_reason": "two"}, "one ", "two"),
        ("one two three", {"stop": "two", "include_stop_str_in_output": True}, {}, "one two", "two"),
        ("one two three", {"stop": "two"}, {"finish_reason": "length"}, "one two three", None),
        ("one two three", {"stop": "two"}, {"stop_reason": 5}, "one two three", 5),
        ("one two three one", {"stop": "one", "min_tokens": 4}, {}, "one two three ", "one"),
        ("one two three<|im_end|>", {"stop": "three"}, {}, "one two ", "three"),
        ("one two", {"stop": "four"}, {}, "one two", None),
    ],
)
def test_a_stop_string_cuts_the_text(
    server: ServedModel, text: str, request_: Json, fields: Json, content: str, stop_reason: str | int | None
) -> None:
    answer = answered(server, text, request_, **fields)

    assert answer["message"]["content"] == content
    assert answer["stop_reason"] == stop_reason


def test_a_stop_string_cuts_before_the_parser(parsed_server: ServedModel) -> None:
    answer = answered(parsed_server, f"<think>a</think>b STOP {CALL}", {"tools": TOOLS, "stop": " STOP"})

    assert answer["message"]["reasoning"] == "a"
    assert answer["message"]["content"] == "b"
    assert "tool_calls" not in answer["message"]


def test_reasoning_content_and_calls_are_told_apart(parsed_server: ServedModel) -> None:
    answer = answered(parsed_server, f"<think>Hm.</think>Let me see.{CALL}<|im_end|>", {"tools": TOOLS})
    message = answer["message"]

    assert list(message) == [
        *("role", "content", "refusal", "annotations", "audio", "function_call", "tool_calls", "reasoning")
    ]
    assert (message["reasoning"], message["content"]) == ("Hm.", "Let me see.")
    (call,) = message["tool_calls"]
    assert list(call) == ["id", "type", "function"]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    assert answer["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("request_", "finish_reason", "calls", "told"),
    [
        ({"tools": TOOLS, "tool_choice": "auto"}, "stop", 2, "tool_calls"),
        ({"tools": TOOLS, "tool_choice": "auto"}, "length", 2, "length"),
        ({"tools": TOOLS, "tool_choice": "required"}, "stop", 2, "tool_calls"),
        ({"tools": TOOLS, "tool_choice": TOOLS[0] | {"function": {"name": "get_weather"}}}, "stop", 2, "stop"),
        ({"tools": TOOLS, "parallel_tool_calls": False}, "stop", 1, "tool_calls"),
        ({"tools": TOOLS, "tool_choice": "none"}, "stop", 0, "stop"),
        ({"tools": TOOLS, "tool_choice": None}, "stop", 0, "stop"),
        ({}, "stop", 0, "stop"),
    ],
    ids=["auto", "auto, cut off", "required", "named", "one at a time", "none", "null", "no tools"],
)
def test_which_calls_reach_the_client(
    parsed_server: ServedModel, request_: Json, finish_reason: str, calls: int, told: str
) -> None:
    answer = answered(parsed_server, f"<think></think>{CALL}\n{CALL}", request_, finish_reason=finish_reason)

    assert len(answer["message"].get("tool_calls", ())) == calls
    assert answer["finish_reason"] == told


def test_a_forced_call_has_empty_content(parsed_server: ServedModel) -> None:
    answer = answered(parsed_server, f"<think></think>{CALL}", {"tools": TOOLS, "tool_choice": "required"})

    assert answer["message"]["content"] == ""


def test_the_prompt_decides_whether_reasoning_is_open(parsed_server: ServedModel) -> None:
    closed = encoded(parsed_server, PROMPT + "<think>\n\n</think>\n\n")
    body = {"generate_response": response(choice(encoded(parsed_server, "Fine."))), "chat_request": REQUEST}

    def told(where: Json) -> tuple[Any, Any]:
        message = derender_chat(where, parsed_server)["choices"][0]["message"]
        return message["reasoning"], message["content"]

    assert told(body) == ("Fine.", None)
    assert told({**body, "prompt_token_ids": closed}) == (None, "Fine.")
    assert told({**body, "generate_response": {**body["generate_response"], "prompt_token_ids": closed}}) == (
        None,
        "Fine.",
    )


def test_a_thought_that_was_cut_off_is_reasoning(parsed_server: ServedModel) -> None:
    opened = encoded(parsed_server, PROMPT + "<think>\n")
    generated = response(choice(encoded(parsed_server, "still thinking"), "length"))
    body = {"generate_response": generated, "chat_request": REQUEST, "prompt_token_ids": opened}

    answer = derender_chat(body, parsed_server)["choices"][0]
    assert (answer["message"]["reasoning"], answer["message"]["content"]) == ("still thinking", None)
    assert answer["finish_reason"] == "length"


def test_hidden_reasoning_does_not_leak(parsed_server: ServedModel, server: ServedModel) -> None:
    text = "<think>secret</think>open"
    fields = {"logprobs": logprobs(encoded(parsed_server, text))}
    request = {"include_reasoning": False, "return_token_ids": True, "logprobs": True}

    hidden = answered(parsed_server, text, request, **fields)
    assert hidden["message"]["content"] == "open"
    assert (hidden["message"]["reasoning"], hidden["logprobs"], hidden["token_ids"]) == (None, None, None)
    plain = answered(server, text, request, **fields)
    assert plain["logprobs"] is not None and plain["token_ids"] is not None


def test_choices_keep_their_index_and_their_calls_have_ids_of_their_own(parsed_server: ServedModel) -> None:
    token_ids = encoded(parsed_server, f"<think></think>{CALL}{CALL}")
    generated = response(choice(token_ids), choice(token_ids, index=3))
    body = {"generate_response": generated, "chat_request": {**REQUEST, "tools": TOOLS}}

    choices = derender_chat(body, parsed_server)["choices"]
    ids = [call["id"] for entry in choices for call in entry["message"]["tool_calls"]]
    assert [entry["index"] for entry in choices] == [0, 3]
    assert len(set(ids)) == 4
    assert ids == [
        call["id"] for entry in derender_chat(body, parsed_server)["choices"] for call in entry["message"]["tool_calls"]
    ]


def test_end_of_text_tokens_come_from_the_generation_config(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 0}', encoding="utf-8")
    server = open_server(model_folder, Settings(generation_config=str(tmp_path)))

    assert answered(server, "Hi!<|endoftext|>", {"skip_special_tokens": False})["stop_reason"] is None
    body = {"generate_response": response(choice([*encoded(server, "Hi"), 0]))}
    (answer,) = derender_chat(body, server)["choices"]
    assert (answer["message"]["content"], answer["stop_reason"]) == ("Hi", 0)
