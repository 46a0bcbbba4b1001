"""Recorded answers of the reference, parsed here: equal, or one of its answers, or listed as a deviation."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from renderlayer.derender import derender_chat
from renderlayer.errors import RenderLayerError
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings

PATH = "/v1/chat/completions/derender"
DEVIATIONS = Path(__file__).resolve().parents[2] / "layers" / "preprocessing" / "deviations.txt"
PARSERS = {"--tool-call-parser": "tool_call_parser", "--reasoning-parser": "reasoning_parser"}
SETS = (
    "tiny-qwen3-parsers",
    "tiny-llama3.1",
    "tiny-deepseek",
    "tiny-deepseek-r1",
    "tiny-gptoss",
    "zoo-apertus-none",
    "zoo-deepseek_v31-deepseek_v3",
    "zoo-deepseek_v32-deepseek_r1",
    "zoo-ernie45-ernie45",
    "zoo-functiongemma-none",
    "zoo-gemma4-gemma4",
    "zoo-gigachat3-none",
    "zoo-glm45-glm45",
    "zoo-granite-granite",
    "zoo-granite4-none",
    "zoo-hermes-deepseek_r1",
    "zoo-hunyuan_a13b-hunyuan_a13b",
    "zoo-internlm-none",
    "zoo-jamba-none",
    "zoo-kimi_k2-kimi_k2",
    "zoo-lfm2-none",
    "zoo-llama3_json-none",
    "zoo-llama4_pythonic-none",
    "zoo-longcat-none",
    "zoo-mimo-mimo",
    "zoo-minicpm5-none",
    "zoo-minimax_m2-minimax_m2",
    "zoo-mistral-mistral",
    "zoo-olmo3-olmo3",
    "zoo-phi4_mini_json-none",
    "zoo-pythonic-none",
    "zoo-qwen3_coder-qwen3",
    "zoo-seed_oss-seed_oss",
    "zoo-step3-step3",
    "zoo-xlam-none",
)


class InProcess:
    """What the comparison takes for an HTTP client."""

    def __init__(self, server: ServedModel) -> None:
        self.server = server

    def json(self, path: str, body: Any) -> tuple[int, Any]:
        try:
            return 200, json.loads(json.dumps(derender_chat(body, self.server)))
        except RenderLayerError as error:
            return error.status, error.body()

    def call(self, method: str, path: str, body: bytes, headers: Any) -> tuple[int, Any]:
        return self.json(path, json.loads(body))


@pytest.fixture(scope="module")
def parity(shared: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("parity", shared / "tools" / "parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def packed(model: Path) -> ServedModel:
    return ServedModel.open(Settings(model=str(model), served_model_name=[model.name]))


def serving(shared: Path, server_args: list[str]) -> ServedModel:
    """The server that the recorded flags describe."""
    model = next(argument for argument in server_args if argument.startswith("models/"))
    flags = {name: server_args[server_args.index(flag) + 1] for flag, name in PARSERS.items() if flag in server_args}
    folder = shared / model
    settings = Settings(
        model=str(folder),
        served_model_name=[folder.name],
        enable_auto_tool_choice="--enable-auto-tool-choice" in server_args,
        **flags,
    )
    return ServedModel(packed(folder).model, settings)


def recorded(shared: Path, name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(shared / "corpus" / f"{name}.jsonl.gz", "rt", encoding="utf-8", errors="surrogatepass") as lines:
        for case in map(json.loads, lines):
            if case["path"] == PATH:
                yield case


def deviations() -> list[re.Pattern[str]]:
    lines = (line.partition("#") for line in DEVIATIONS.read_text(encoding="utf-8").splitlines())
    assert all(reason.strip() for pattern, _, reason in lines if pattern.strip())
    patterns = (line.partition("#")[0].strip() for line in DEVIATIONS.read_text(encoding="utf-8").splitlines())
    return [re.compile(pattern) for pattern in patterns if pattern]


@pytest.mark.parametrize("name", SETS)
def test_answers_are_the_references(name: str, shared: Path, parity: ModuleType) -> None:
    on_purpose, failures, count = deviations(), [], 0
    for case in recorded(shared, name):
        count += 1
        difference, _ = parity.check(InProcess(serving(shared, case["server_args"])), case)
        label = f"{name}/{case['name']}"
        if difference and not any(pattern.fullmatch(label) for pattern in on_purpose):
            failures.append(f"{label}: {difference}")

    assert failures == []
    assert count > 30
