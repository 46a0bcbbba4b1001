"""What two coding agents send, field by field: Codex over Responses, Claude Code over Messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.clients.conftest import KEY, MODEL

PATCH_GRAMMAR = """\
start: begin hunk end
begin: "*** Begin Patch" LF
hunk: "*** Add File: " /[^\\n]+/ LF ("+" /[^\\n]*/ LF)+
end: "*** End Patch" LF?
%import common.LF
"""
CODEX_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "shell",
        "description": "Runs a command.",
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": {
                "command": {"type": "array", "items": {"type": "string"}},
                "timeout_ms": {"type": "number"},
                "workdir": {"type": "string"},
            },
            "required": ["command"],
            "additionalProperties": False,
        },
    },
    {
        "type": "custom",
        "name": "apply_patch",
        "description": "Edits files.",
        "format": {"type": "grammar", "syntax": "lark", "definition": PATCH_GRAMMAR},
    },
    {"type": "local_shell"},
    {"type": "web_search", "external_web_access": False},
]
CODEX: dict[str, Any] = {
    "model": MODEL,
    "instructions": "You are a coding agent.",
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the files."}]},
    ],
    "tools": CODEX_TOOLS,
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "0199c0de-0000-7000-8000-000000000000",
    "text": {"verbosity": "low"},
    "max_output_tokens": 8,
}
CODEX_HISTORY: list[dict[str, Any]] = [
    *CODEX["input"],
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAAB", "content": None},
    {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": '{"command": ["ls"]}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "main.py"},
    {"type": "custom_tool_call", "call_id": "call_2", "name": "apply_patch", "input": "*** Begin Patch\n*** End Patch"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": "done"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAAB"},
    {"type": "item_of_tomorrow", "id": "x_1"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks. And now?"}]},
]
CLAUDE_TOOLS: list[dict[str, Any]] = [
    {
        "name": "Bash",
        "description": "Runs a command.",
        "input_schema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"command": {"type": "string"}, "timeout": {"type": "number"}},
            "required": ["command"],
            "additionalProperties": False,
        },
    },
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
]
CACHED = {"cache_control": {"type": "ephemeral"}}
CLAUDE: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 1100,
    "stop_sequences": ["."],  # keeps the small model short
    "system": [
        {"type": "text", "text": "You are a coding agent.", **CACHED},
        {"type": "text", "text": "The working folder is /work.", **CACHED},
    ],
    "messages": [{"role": "user", "content": [{"type": "text", "text": "List the files.", **CACHED}]}],
    "tools": CLAUDE_TOOLS,
    "metadata": {"user_id": "user_1"},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "temperature": 1,
    "stream": True,
}
CLAUDE_HISTORY: list[dict[str, Any]] = [
    *CLAUDE["messages"],
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "A listing is asked for.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": [{"type": "text", "text": "main.py"}],
                **CACHED,
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "Notes of the project."},
                "title": "Notes",
            },
            {"type": "text", "text": "Thanks. And now?"},
        ],
    },
]
CLAUDE_HEADERS = {
    "x-api-key": KEY,
    "anthropic-version": "2023-06-01",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14",
}


@pytest.fixture(scope="module")
def http(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=300) as client:
        yield client


def events(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("text/event-stream")
    return [
        json.loads(line.removeprefix("data: ")) for line in response.text.splitlines() if line.startswith("data: {")
    ]


@pytest.mark.parametrize("given", [CODEX["input"], CODEX_HISTORY], ids=["first", "later"])
def test_codex(http: httpx.Client, given: list[dict[str, Any]]) -> None:
    told = events(http.post("/v1/responses", json={**CODEX, "input": given}))
    assert told[0]["type"] == "response.created"
    assert told[-1]["type"] in ("response.completed", "response.incomplete")
    assert told[-1]["response"]["usage"]["output_tokens"] > 0


def test_codex_is_told_what_was_left_out(http: httpx.Client) -> None:
    with http.stream("POST", "/v1/responses", json={**CODEX, "input": CODEX_HISTORY}) as response:
        response.read()
    warnings = " ".join(value for name, value in response.headers.multi_items() if "warning" in name.lower())
    assert "item_of_tomorrow" in warnings


def test_codex_s_unanswerable_field_is_refused(http: httpx.Client) -> None:
    answer = http.post("/v1/responses", json={**CODEX, "previous_response_id": "resp_1"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "previous_response_id")


@pytest.mark.parametrize("messages", [CLAUDE["messages"], CLAUDE_HISTORY], ids=["first", "later"])
def test_claude_code(http: httpx.Client, messages: list[dict[str, Any]]) -> None:
    body = {**CLAUDE, "messages": messages}
    told = events(http.post("/v1/messages", params={"beta": "true"}, json=body, headers=CLAUDE_HEADERS))
    assert (told[0]["type"], told[-1]["type"]) == ("message_start", "message_stop")
    counted = http.post("/v1/messages/count_tokens", params={"beta": "true"}, json=body, headers=CLAUDE_HEADERS)
    assert counted.json() == {"input_tokens": told[0]["message"]["usage"]["input_tokens"]}


def test_claude_code_s_errors(http: httpx.Client) -> None:
    answer = http.post("/v1/messages", json={**CLAUDE, "max_tokens": -1}, headers=CLAUDE_HEADERS)
    assert answer.status_code == 400
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == "invalid_request_error"
