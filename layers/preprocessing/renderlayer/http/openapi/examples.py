"""Requests that work as they stand, and answers to them, for the API's description."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

MODEL = "SmolLM2-135M-Instruct"
QUESTION = "What is the capital of France?"
ANSWER = [504, 3575, 282, 4649, 314, 7042, 30, 2]

_USER: Json = {"role": "user", "content": QUESTION}
_GENERATED: Json = {
    "request_id": "chatcmpl-1",
    "choices": [{"index": 0, "token_ids": ANSWER, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 37, "completion_tokens": 8, "total_tokens": 45},
}
_CHUNK: Json = {
    "request_id": "chatcmpl-1",
    "choices": [{"index": 0, "token_ids": ANSWER[:2], "finish_reason": None}],
}
_TOOL: Json = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

CHAT: dict[str, Json] = {
    "question": {"messages": [_USER], "max_tokens": 64},
    "conversation": {
        "messages": [
            {"role": "system", "content": "Answer in one sentence."},
            _USER,
            {"role": "assistant", "content": "Paris."},
            {"role": "user", "content": [{"type": "text", "text": "And of Spain?"}]},
        ],
        "temperature": 0,
    },
}
CHAT_WITH_TOOLS: dict[str, Json] = {
    **CHAT,
    "tools": {"messages": [_USER], "tools": [_TOOL], "tool_choice": "required", "max_tokens": 64},
}
COMPLETION: dict[str, Json] = {
    "text": {"prompt": "The capital of France is", "max_tokens": 8},
    "token ids": {"prompt": ANSWER[:4], "max_tokens": 8},
}
RESPONSES: dict[str, Json] = {
    "text": {"input": QUESTION, "max_output_tokens": 64},
    "items": {"input": [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]},
}
MESSAGES: dict[str, Json] = {"question": {"model": MODEL, "messages": [_USER], "max_tokens": 64}}
COUNT_TOKENS: dict[str, Json] = {"question": {"model": MODEL, "messages": [_USER]}}
TOKENIZE: dict[str, Json] = {"text": {"prompt": QUESTION}, "conversation": {"messages": [_USER]}}
DETOKENIZE: dict[str, Json] = {"answer": {"tokens": ANSWER}}


def derender(request: str, body: Json) -> dict[str, Json]:
    """Bodies of a derender endpoint, whole and a chunk, whose request is in the field `request`."""
    known: Json = {"prompt_tokens": 37, "prompt_token_ids": ANSWER[:4], request: body}
    return {
        "whole": {"generate_response": _GENERATED, **known},
        "chunk": {"stream": True, "generate_chunk": _CHUNK, **known},
    }


DERENDER_CHAT = derender("chat_request", CHAT["question"])
DERENDER_RESPONSES = derender("responses_request", RESPONSES["text"])
DERENDER_MESSAGES = derender("messages_request", MESSAGES["question"])
DERENDER_COMPLETION: dict[str, Json] = {
    "whole": {
        "generate_responses": [_GENERATED],
        "prompt_tokens": [5],
        "completion_request": COMPLETION["text"],
    },
    "chunk": {
        "stream": True,
        "generate_chunk": _CHUNK,
        "prompt_tokens": 5,
        "completion_request": COMPLETION["text"],
    },
}
UPLOAD: dict[str, Json] = {
    "a large file": {
        "bytes": 100_000_000,
        "filename": "requests.jsonl",
        "mime_type": "application/jsonl",
        "purpose": "batch",
    }
}
UPLOAD_COMPLETION: dict[str, Json] = {"two parts": {"part_ids": ["part_1", "part_2"]}}
BATCH: dict[str, Json] = {
    "a file of chats": {
        "input_file_id": "file-0f3a",
        "endpoint": "/v1/chat/completions/render",
        "completion_window": "24h",
    }
}
