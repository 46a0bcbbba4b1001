"""Every recorded render call of the reference, against `adjust` alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from renderlayer.constraints.adjust import Adjustment, adjust
from renderlayer.constraints.structured import structured_outputs
from renderlayer.render.responses.request import chat_request
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.responses import ResponsesRequest
from tests.parsers.tools import Names, tool


def recorded(folder: Path) -> Iterator[dict[str, Any]]:
    """Every answered render call; completions have no tools and are checked with the structured outputs."""
    endpoints = ("/v1/chat/completions/render", "/v1/responses/render", "/v1/messages/render")
    for path in sorted((folder / "corpus").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                if case["path"] in endpoints and case["status"] == 200 and isinstance(case["request"], dict):
                    yield {**case, "set": path.name.removesuffix(".jsonl.gz")}


def names_of(case: dict[str, Any]) -> tuple[Names, bool]:
    """The parsers of the recorded server, and whether its model speaks harmony."""
    flags = case["server_args"]

    def value(flag: str) -> str:
        return flags[flags.index(flag) + 1] if flag in flags else ""

    harmony = "models/tiny-gptoss" in flags
    return Names(value("--tool-call-parser"), value("--reasoning-parser") or "openai_gptoss" * harmony), harmony


def changed(case: dict[str, Any]) -> Adjustment:
    """What `adjust` makes of a recorded request, whatever its dialect."""
    body, (names, harmony) = case["request"], names_of(case)
    constraint = None
    parallel = body.get("parallel_tool_calls", True)
    if "chat" in case["path"]:
        request = parse(ChatCompletionRequest, body)
        tools, choice = request.tool_dicts(), request.choice()
        constraint = structured_outputs(request.structured_outputs, request.response_format)
    elif "responses" in case["path"]:
        functions = [entry for entry in body.get("tools") or [] if entry["type"] == "function"]
        tools = [tool(entry["name"], entry.get("parameters"), strict=entry.get("strict")) for entry in functions]
        choice = body.get("tool_choice", "auto") if tools else "none"
        request = chat_request(parse(ResponsesRequest, body))
        constraint = structured_outputs(request.structured_outputs, request.response_format)
    else:
        tools = [tool(entry["name"], entry.get("input_schema")) for entry in body.get("tools") or []]
        given = body.get("tool_choice") or {"type": "auto"}
        named = {"function": {"name": given.get("name")}}
        choice = {"auto": "auto", "any": "required", "none": "none", "tool": named}[given["type"]]
        parallel = not given.get("disable_parallel_tool_use", False)
    return adjust(
        names,
        tools,
        choice,
        parallel_tool_calls=parallel,
        structured_outputs=constraint,
        harmony_model=harmony,
    )


def test_recorded_requests_are_constrained_as_the_reference_does(shared: Path) -> None:
    seen = wrong = 0
    for case in recorded(shared):
        change, sampling = changed(case), case["response"]["sampling_params"]
        skip = False if case["request"].get("skip_special_tokens") is False else change.skip_special_tokens
        expected = (sampling.get("structured_outputs"), sampling.get("skip_special_tokens"))
        seen += 1
        # Texts are compared, so that the order of keys counts, too.
        wrong += json.dumps([change.structured_outputs, skip]) != json.dumps(expected)
    assert (wrong, seen > 1000) == (0, True)
