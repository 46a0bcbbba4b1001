"""Every derender line of the case files: right, or listed in deviations.txt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from renderlayer.derender.events.messages_answer import derender_messages, stream_messages
from renderlayer.served_model import ServedModel
from tests.cases.cases import Case, answer, comparison, in_chunks, listed, read, serving, streamed
from tests.conftest import SHARED

CHAT = "/v1/chat/completions/derender"
FLAGS = ("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3", "--enable-auto-tool-choice")
ZOO = "tiny-zoo"
WHOLE = re.compile(r'\[\["ref whole", ("(?:[^"\\]|\\.)*")\]')
Told = tuple[str | None, str | None, list[tuple[str, Any]]]
"""Reasoning, content and calls."""

RIGHT: dict[str, Told] = {
    "C01": ("\nx\n", None, [("f", {"command": "echo </think> done"})]),
    "C01b": ("x", None, [("f", {"command": "echo <think>a</think> b", "n": 1})]),
    "C04": ("\nI could write <tool_call> but need not.\n", "\n\nNo.", []),
    "C05": ("x", "\nWrap it in <think> and </think> tags.", []),
    "C10": (None, '{"name": "Alice", "age": 3}', []),
    "C13": (None, None, [("f", {"command": "a\nb 'c' d"})]),
    "C13b": (None, None, [("f", {"command": "ab", "n": 1})]),
    "C16": (None, None, [("f", {"code": "x", "refs": ["a", "b, c"]})]),
    "C17": (None, None, [("f", {"code": 'print("hi")', "refs": ["a"]})]),
    "C18": (None, "Text", [("f", {"n": 3})]),
    "C19": (None, None, [("f", {"command": "if a < b:\n  x & y"})]),
    "C20b": (None, "Let me check.", [("f", {"n": 3})]),
}
"""What the words of public.jsonl say is right."""


def cases(name: str) -> list[Case]:
    return [case for case in read(SHARED, name) if "/derender" in json.dumps(case)] if SHARED.is_dir() else []


def named(found: list[Case]) -> list[Any]:
    return [pytest.param(case, id=case["label"]) for case in found]


def loaded(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def told(body: Any) -> Told:
    message = body["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls") or []]
    said = [(call["name"], loaded(call["arguments"])) for call in calls]
    return message["reasoning"], message["content"], said


def told_in_chunks(shared: Path, chunks: list[Any]) -> Told:
    """As a whole answer tells it: white space around calls is no content, and what is absent is None."""
    found = comparison(shared).gathered(chunks)
    calls = [(call["name"], loaded(call["arguments"])) for call in found["tool_calls"]]
    content = found["content"].strip() if calls else found["content"]
    return found["reasoning"] or None, content or None, calls


def checked_stream(server: ServedModel, body: dict[str, Any], sizes: list[int]) -> list[Any]:
    base = {key: value for key, value in body.items() if key != "generate_response"}
    base.setdefault("prompt_token_ids", [])
    status, chunks = streamed(server, CHAT, base, in_chunks(body["generate_response"], sizes))
    assert status == 200, chunks
    return chunks


@pytest.mark.parametrize("case", named([case for case in cases("public") if "body" in case["input"]]))
def test_what_was_reported(case: Case, shared: Path) -> None:
    if listed(case["label"]):
        pytest.skip("differs on purpose")
    _, model, *flags = case["input"]["server"].split()
    server = serving(shared, model, flags)
    body = case["input"]["body"]

    status, whole = answer(server, CHAT, body)

    assert status == 200
    assert told(whole) == RIGHT[case["id"]]
    for size in (1, 2, 3, 1000):
        chunks = checked_stream(server, body, [size] * 1000)
        assert told_in_chunks(shared, chunks) == RIGHT[case["id"]], size


@pytest.mark.parametrize("arguments", ['{"cmd": }', '"ls"', '["ls"]', "17"])
def test_a_message_with_a_broken_call_says_the_same_whole_and_streamed(arguments: str, shared: Path) -> None:
    case = next(case for case in cases("public") if case["id"] == "C58")
    server = serving(shared, ZOO, FLAGS)
    text = case["input"]["generated_text"].replace('{"cmd": }', arguments)
    tokens = server.model.tokenizer.encode(text)
    request = {**case["input"]["messages_request"], "model": ZOO}
    response = {"request_id": "r", "choices": [{"index": 0, "token_ids": tokens, "finish_reason": "stop"}]}
    prompt = {"prompt_token_ids": server.model.tokenizer.encode("<|im_start|>assistant\n")}

    whole = derender_messages({"generate_response": response, "messages_request": request, **prompt}, server)

    assert [block["type"] for block in whole["content"]] == ["text"]
    assert whole["stop_reason"] == "end_turn"
    header = {"messages_request": request, **prompt}
    events = list(stream_messages(iter([header, *in_chunks(response, [3] * 1000)]), server))
    parts = [event["data"]["delta"] for event in events if event["event"] == "content_block_delta"]
    assert "".join(part["text"] for part in parts) == whole["content"][0]["text"]


@pytest.mark.parametrize("case", named(cases("differences")))
def test_what_differed_from_the_reference(case: Case, shared: Path) -> None:
    if listed(case["label"]):
        pytest.skip("differs on purpose")
    server = serving(shared, case["model"], case["flags"])
    request, right = case["request"], case["reference_answer_excerpt"]
    if "_chunks" in request:
        assert_reads_as(request, right["choices"], server, shared)
    elif "generate_chunks" in request:
        base = {"prompt_token_ids": [], **request["base"]}
        status, chunks = streamed(server, case["path"], base, request["generate_chunks"])
        assert status == right["status"], chunks
        found = comparison(shared).gathered(chunks)
        for key in ("content", "reasoning", "tool_calls", "finish_reason", "stop_reason", "text"):
            assert found[key] == right[key], key
    else:
        status, got = answer(server, case["path"], request)
        assert status == right["status"], got
        for key, value in right.items():
            if key not in ("status", "error"):
                assert comparison(shared).diff(value, got.get(key), f".{key}") is None, key


def assert_reads_as(request: dict[str, Any], right: list[Any] | str, server: ServedModel, shared: Path) -> None:
    """Whole, and streamed in the chunks that were recorded, the answer is what the reference made of it."""
    parity = comparison(shared)
    body = {key: value for key, value in request.items() if not key.startswith("_")}
    status, whole = answer(server, CHAT, body)
    assert status == 200, whole
    if isinstance(right, str):
        complete = WHOLE.match(right)
        if complete is None:
            assert_begins_with(parity.answer_of_whole(whole)["content"], right)
            return
        right = [["ref whole", json.loads(complete[1])]]
    wanted = {label.removeprefix("ref "): json.loads(text) for label, text in right}
    assert parity.answer_of_whole(whole) == wanted["whole"]
    for number, sizes in request["_chunks"].items():
        assert parity.answer_of_stream(checked_stream(server, body, sizes)) == wanted.get(
            f"stream{number}", wanted["whole"]
        )


def assert_begins_with(content: str, excerpt: str) -> None:
    """The content begins as what an excerpt, which was cut off, has of it."""
    inside = excerpt.partition('"content')[2].partition(": ")[2].replace("\\\\", "\\").replace('\\"', '"')[1:]
    begun = json.loads('"' + inside[: inside.rindex("\\")] + '"')
    assert len(begun) > 50 and content.startswith(begun)


@pytest.mark.parametrize("case", named(cases("engine")))
def test_what_an_engine_said(case: Case, shared: Path) -> None:
    if listed(case["label"]):
        pytest.skip("differs on purpose")
    body = case["request"]
    server = serving(shared, body["model"], case.get("server_args", ()))

    status, got = answer(server, CHAT, body)

    assert status == 200
    message = got["choices"][0]["message"]
    for key, value in (case.get("right") or case["reference"]).items():
        if key == "tool_calls":
            calls = [(call["function"]["name"], loaded(call["function"]["arguments"])) for call in message[key]]
            assert calls == [(call["function"]["name"], loaded(call["function"]["arguments"])) for call in value]
        else:
            assert message[key] == value, key


SAYS = [case for case in read(SHARED, "differences") if "reasoning_ended" in case["diff"]] if SHARED.is_dir() else []


@pytest.mark.parametrize("case", named(SAYS))
def test_what_render_says_about_reasoning(case: Case, shared: Path) -> None:
    server = serving(shared, case["model"], case["flags"])

    status, got = answer(server, case["path"], case["request"])

    assert status == 200
    assert got["reasoning_ended"] == case["reference_answer_excerpt"]["reasoning_ended"]
