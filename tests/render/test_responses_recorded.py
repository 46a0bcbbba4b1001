"""Recorded renders of Responses and Messages requests, answered in process and compared as they ship."""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from renderlayer.errors import RenderLayerError
from renderlayer.render.messages.render import render_messages
from renderlayer.render.responses.render import render_responses
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.common.base import parse
from renderlayer.wire.messages import MessagesRequest
from renderlayer.wire.responses import ResponsesRequest

PARSERS = {"tool_call_parser": "hermes", "enable_auto_tool_choice": True, "reasoning_parser": "qwen3"}
LLAMA = {"tool_call_parser": "llama3_json", "enable_auto_tool_choice": True}
LLAMA_BOS = 128000


@pytest.fixture(scope="module")
def parity(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("parity", shared / "tools" / "parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(shared: Path, name: str) -> Iterator[Any]:
    with gzip.open(shared / "corpus" / f"{name}.jsonl.gz", "rt", encoding="utf-8", errors="surrogatepass") as lines:
        for case in map(json.loads, lines):
            if case["path"] in ("/v1/responses/render", "/v1/messages/render"):
                yield case


def opened(shared: Path, model: str, **settings: Any) -> ServedModel:
    return ServedModel.open(Settings(model=str(shared / "models" / model), served_model_name=[model], **settings))


def answer(server: ServedModel, path: str, body: Any) -> tuple[int, Any]:
    try:
        if "responses" in path:
            value = render_responses(parse(ResponsesRequest, body), server)
        else:
            value = render_messages(parse(MessagesRequest, body), server)
    except RenderLayerError as error:
        return error.status, error.body()
    return 200, json.loads(json.dumps(value))


def difference(parity: ModuleType, case: Any, status: int, got: Any) -> Any:
    if status != case["status"]:
        return f"status {status}: {got}"
    return parity.diff(case["response"], got) if status == 200 else parity.error_diff(case["response"], got)[0]


@pytest.mark.parametrize(
    ("name", "model", "settings"), [("tiny-qwen3", "tiny-qwen3", {}), ("tiny-qwen3-parsers", "tiny-qwen3", PARSERS)]
)
def test_answers_are_the_references(
    shared: Path, parity: ModuleType, name: str, model: str, settings: dict[str, Any]
) -> None:
    server, count = opened(shared, model, **settings), 0
    for case in recorded(shared, name):
        count += 1
        if case["name"] == "msg_prefill":
            continue  # continued here, as in Anthropic's API
        assert difference(parity, case, *answer(server, case["path"], case["request"])) is None, case["name"]

    assert count > 20


def test_bos_is_said_once_where_the_reference_says_it_twice(shared: Path, parity: ModuleType) -> None:
    server, doubled = opened(shared, "tiny-llama3.1", **LLAMA), 0
    for case in recorded(shared, "tiny-llama3.1"):
        status, got = answer(server, case["path"], case["request"])
        if status == 200 and "responses" in case["path"]:
            doubled += 1
            got["token_ids"].insert(0, LLAMA_BOS)
            if case["request"].get("max_output_tokens") is None:
                got["sampling_params"]["max_tokens"] -= 1
        if case["name"] != "msg_prefill":  # continued here, as in Anthropic's API
            assert difference(parity, case, status, got) is None, case["name"]

    assert doubled > 10
