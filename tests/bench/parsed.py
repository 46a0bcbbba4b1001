"""Derendering with parsers over the runtime client: whole, and streamed one token a call (hermes and qwen3)."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from renderlayer.bundle import Tokenizer, open_bundle
from tests.bench.measure import require, warm
from tests.events import http_api
from tests.runtime import Function

PATH = "/v1/chat/completions/derender"
PARSERS = {
    "RENDERLAYER_TOOL_CALL_PARSER": "hermes",
    "RENDERLAYER_REASONING_PARSER": "qwen3",
    "RENDERLAYER_ENABLE_AUTO_TOOL_CHOICE": "true",
}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>\n'
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}
REQUEST = {"messages": [{"role": "user", "content": "Weather?"}], "tools": [TOOL]}


@dataclass(frozen=True)
class Stream:
    """One answer, a token a call: median of a call and sum of all in milliseconds, and bytes both ways."""

    median: float
    total: float
    transferred: int


def parsed_answers(handler: str, bundle: Path) -> list[tuple[str, str]]:
    """Lines (what, figure) for the report."""
    tokenizer = open_bundle(bundle).tokenizer
    prompt = tokenizer.encode("<|im_start|>user\nWeather?<|im_end|>\n<|im_start|>assistant\n")
    answers = {count: said(tokenizer, count) for count in (512, 4096)}
    first = {"prompt_token_ids": prompt, "chat_request": REQUEST}
    choice = {"index": 0, "token_ids": answers[512], "finish_reason": "length"}
    whole = {"generate_response": {"request_id": "bench", "choices": [choice]}, **first}
    with Function(handler, {"RENDERLAYER_MODEL": str(bundle), **PARSERS}) as function:
        at_once = warm(function, http_api(PATH, json.dumps(whole)))
        streamed(function, answers[512], first)  # the process warms up
        short, long = (streamed(function, answers[count], first) for count in (512, 4096))
    return [
        ("parsed, 512 tokens whole", f"{at_once:7.2f} ms"),
        ("parsed, 512 tokens streamed", f"{short.median:7.2f} ms a call   {short.transferred / 1e6:.2f} MB in all"),
        ("parsed, 4096 for 512 tokens", f"{long.total / short.total:7.2f} x"),
    ]


def said(tokenizer: Tokenizer, count: int) -> list[int]:
    """An answer of `count` tokens: a third of reasoning, a third of content, the rest calls."""
    parts = {"<think>\n": "The user asks about the weather. ", "</think>\n\n": "Here is what I found: ", "\n": CALL}
    token_ids: list[int] = []
    for number, (opening, text) in enumerate(parts.items(), 1):
        token_ids = [*token_ids, *tokenizer.encode(opening + text * count)][: count * number // len(parts)]
    return token_ids


def streamed(function: Function, token_ids: list[int], first: dict[str, Any]) -> Stream:
    """Derender an answer one token a call; the request and the prompt come with the first call only."""
    state: Any = None
    times: list[float] = []
    transferred = 0
    for place, token_id in enumerate(token_ids):
        ended = "length" if place == len(token_ids) - 1 else None
        generated = {"request_id": "bench", "choices": [{"index": 0, "token_ids": [token_id], "finish_reason": ended}]}
        body: dict[str, Any] = {"stream": True, "generate_chunk": generated, "stream_state": state}
        text = json.dumps(body if place else {**body, **first}, separators=(",", ":"))
        outcome = require(function.invoke(http_api(PATH, text)))
        times.append(outcome.seconds * 1e3)
        told = outcome.value["body"]
        transferred += len(text) + len(told)
        state = json.loads(told)["stream_state"]
    return Stream(statistics.median(times), sum(times), transferred)
