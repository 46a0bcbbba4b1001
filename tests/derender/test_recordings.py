"""Recorded calls of the reference, answered in process and compared by the comparison that ships with them."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from renderlayer.derender import derender_chat, derender_completion
from renderlayer.errors import RenderLayerError
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings


class InProcess:
    """What the comparison takes for an HTTP client."""

    def __init__(self, server: ServedModel) -> None:
        self.server = server

    def json(self, path: str, body: Any) -> tuple[int, Any]:
        try:
            derender = derender_chat if "/chat/" in path else derender_completion
            return 200, json.loads(json.dumps(derender(body, self.server)))
        except RenderLayerError as error:
            return error.status, error.body()

    def call(self, method: str, path: str, body: bytes, headers: Any) -> tuple[int, Any]:
        return self.json(path, json.loads(body))


@pytest.fixture(scope="module")
def qwen3(shared: Path) -> ServedModel:
    return ServedModel.open(Settings(model=str(shared / "models" / "tiny-qwen3"), served_model_name=["tiny-qwen3"]))


@pytest.fixture(scope="module")
def parity(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("parity", shared / "tools" / "parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_calls_without_parsers_answer_as_the_reference_did(
    shared: Path, parity: ModuleType, qwen3: ServedModel
) -> None:
    client, failures, count = InProcess(qwen3), [], 0
    with gzip.open(shared / "corpus" / "tiny-qwen3.jsonl.gz", "rt", encoding="utf-8", errors="surrogatepass") as lines:
        for case in map(json.loads, lines):
            if "/derender" in case["path"]:
                count += 1
                difference, _ = parity.check(client, case)
                if difference:
                    failures.append(f"{case['name']}: {difference}")

    assert failures == []
    assert count > 40


def test_a_character_of_three_bytes_in_three_tokens(qwen3: ServedModel) -> None:
    state, said = None, []
    for token_id in (8508, 43720, 50292):
        event = {"request_id": "r", "choices": [{"index": 0, "token_ids": [token_id], "finish_reason": None}]}
        answer = derender_chat({"stream": True, "generate_chunk": event, "stream_state": state}, qwen3)
        state = answer["stream_state"]
        said.append(answer["chunk"]["choices"][0]["delta"]["content"] or "")

    assert "".join(said) == "客单价"
    assert not any("\ufffd" in part for part in said)
