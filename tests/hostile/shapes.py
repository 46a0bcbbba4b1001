"""Bodies made to cost more than they weigh: each shape takes a size in bytes."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[int], bytes]


def chat(content: Any, **fields: Any) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": content}], **fields}).encode()


def filled(before: str, part: str, after: str) -> Shape:
    """`part` again and again, the last of them without its comma."""
    return lambda size: (before + (part * (size // len(part))).removesuffix(",") + after).encode()


def words(size: int) -> str:
    chance = random.Random(size)
    return " ".join("".join(chance.choices("abcdefghij", k=6)) for _ in range(size // 7))


PART = '{"type":"text","text":""},'
TURN = '{"role":"user","content":""},'
CALL = '{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}},'
TOOL = '{"type":"function","function":{"name":"f","parameters":{}}},'
HELLO = '{"messages":[{"role":"user","content":"x"}],'

CHATS: Mapping[str, Shape] = {
    "empty lists": filled('{"messages":[', "[],", "]}"),
    "empty objects": filled('{"messages":[', "{},", "]}"),
    "numbers": filled('{"messages":[', "1,", "]}"),
    "nested lists": filled('{"messages":', "[", ""),
    "nested objects": filled("", '{"a":', ""),
    "nested lists that close": lambda size: b'{"messages":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}",
    "keys": lambda size: json.dumps({f"k{at}": at for at in range(size // 16)}).encode(),
    "one key": filled("{", '"a":1,', "}"),
    "a long number": filled('{"seed":', "9", "}"),
    "a long fraction": filled('{"temperature":0.', "9", "}"),
    "escapes": filled('{"messages":"', "\\u0000", '"}'),
    "halves of pairs": filled('{"messages":"', "\\ud800", '"}'),
    "white space": filled("", " ", "{}"),
    "turns": filled('{"messages":[', TURN, "]}"),
    "parts": filled('{"messages":[{"role":"user","content":[', PART, "]}]}"),
    "unknown parts": filled('{"messages":[{"role":"user","content":[', '{"type":"x"},', "]}]}"),
    "calls": filled('{"messages":[{"role":"assistant","tool_calls":[', CALL, "]}]}"),
    "tools": filled(HELLO + '"tools":[', TOOL, "]}"),
    "a deep schema": lambda size: chat(
        "x", tools=[{"type": "function", "function": {"name": "f", "parameters": deep(min(size // 24, 300))}}]
    ),
    "stop words": filled(HELLO + '"stop":[', '"a",', "]}"),
    "biases": lambda size: chat("x", logit_bias={str(at): 1 for at in range(size // 12)}),
    "template arguments": lambda size: chat("x", chat_template_kwargs={f"k{at}": [at] for at in range(size // 16)}),
    "a regular expression": lambda size: chat("x", structured_outputs={"regex": "(a|b)*" * (size // 6)}),
    "choices": lambda size: chat("x", structured_outputs={"choice": ["a"] * (size // 5)}),
    "a grammar": lambda size: chat("x", structured_outputs={"grammar": "root ::= 'a'\n" * (size // 13)}),
    "a text of one letter": lambda size: chat("a" * size),
    "spaces": lambda size: chat(" " * size),
    "line breaks": lambda size: chat("\n" * (size // 2)),
    "words": lambda size: chat(words(size)),
    "digits": lambda size: chat("1" * size),
    "brackets": lambda size: chat("<|" * (size // 2)),
    "special tokens": lambda size: chat("<|im_end|>" * (size // 10)),
    "combining marks": lambda size: chat("e" + "\u0301" * (size // 6)),
    "another script": lambda size: json.dumps(
        {"messages": [{"role": "user", "content": "你好" * (size // 6)}]}, ensure_ascii=False
    ).encode(),
    "an astral letter": lambda size: json.dumps(
        {"messages": [{"role": "user", "content": "a" * size + "😀"}]}, ensure_ascii=False
    ).encode(),
    "a base64 of nothing": lambda size: chat(
        [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * size}}]
    ),
    "a long name of a model": lambda size: chat("x", model="m" * size),
    "a long kind of media": lambda size: chat([{"type": "image_url", "image_url": {"url": f"data:{'x' * size},"}}]),
    "a URL": lambda size: chat([{"type": "image_url", "image_url": {"url": "http://" + "a" * size}}]),
    "sound": lambda size: chat(
        [{"type": "input_audio", "input_audio": {"format": "wav", "data": base64.b64encode(b"R" * size).decode()}}]
    ),
    "documents": lambda size: chat("x", documents=[{"a": "b"}] * (size // 12)),
}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


TEXTS: Mapping[str, Shape] = {
    "prompt: one letter": lambda size: json.dumps({"prompt": "a" * size}).encode(),
    "prompt: words": lambda size: json.dumps({"prompt": words(size)}).encode(),
    "prompt: numbers": filled('{"prompt":[', "1,", "]}"),
    "prompt: texts": filled('{"prompt":[', '"a",', "]}"),
    "prompt: lists": filled('{"prompt":[', "[1],", "]}"),
}
TOKENS: Mapping[str, Shape] = {
    "tokens": filled('{"tokens":[', "300,", "]}"),
    "tokens of spaces": filled('{"tokens":[', "220,", "]}"),
    "tokens that are none": filled('{"tokens":[', "99999999,", "]}"),
    "tokens below nothing": filled('{"tokens":[', "-1,", "]}"),
}

OPENED = '{"generate_response":{"request_id":"r","choices":['
CHOICE = '{"index":0,"token_ids":[],"finish_reason":"stop"},'
STREAMED = (
    '{"stream":true,"generate_chunk":{"request_id":"r","choices":[{"index":0,"token_ids":[5],"finish_reason":null}]},'
)
ANSWERS: Mapping[str, Shape] = {
    "answer: tokens": filled(OPENED + '{"index":0,"finish_reason":"stop","token_ids":[', "300,", "]}]}}"),
    "answer: tokens that are none": filled(
        OPENED + '{"index":0,"finish_reason":"stop","token_ids":[', "99999999,", "]}]}}"
    ),
    "answer: choices": filled(OPENED, CHOICE, "]}}"),
    "answer: logprobs": filled(
        OPENED + '{"index":0,"token_ids":[300],"finish_reason":"stop","logprobs":{"content":[',
        '{"token":"token_id:300","logprob":-1.0,"top_logprobs":[]},',
        "]}}]}}",
    ),
    "answer: prompt logprobs": filled(OPENED + '],"prompt_logprobs":[', "null,", "]}}"),
    "answer: prompt": filled(OPENED + ']},"prompt_token_ids":[', "300,", "]}"),
    "answer: messages": filled(OPENED + ']},"chat_request":{"messages":[', TURN, "]}}"),
    "answer: tools": filled(OPENED + ']},"chat_request":{"messages":[],"tools":[', TOOL, "]}}"),
    "state: a long text": filled(STREAMED + '"stream_state":{"resume":"', "A", '"}}'),
    "state: fields": lambda size: (
        STREAMED + '"stream_state":' + json.dumps({f"k{at}": [at] for at in range(size // 16)}) + "}"
    ).encode(),
    "state: tokens": filled(STREAMED + '"stream_state":{"prev_tokens":[', '"a",', "]}}"),
    "state: one token": filled(STREAMED + '"stream_state":{"prev_tokens":["', "a", '"]}}'),
    "state: output": filled(STREAMED + '"stream_state":{"output_token_ids":[', "300,", "]}}"),
    "state: chunks": filled(STREAMED + '"stream_state":{"output_chunk_lens":[', "1,", "]}}"),
    "state: calls": filled(STREAMED + '"stream_state":{"last_tool_call_ids":[', '"a",', "]}}"),
    "state: nested": filled(STREAMED + '"stream_state":', "[", ""),
    "state: a text": filled(STREAMED + '"stream_state":"', "A", '"}'),
}
SHAPES: Mapping[str, Shape] = {**CHATS, **TEXTS, **TOKENS, **ANSWERS}
