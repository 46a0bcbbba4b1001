"""Reading the case files of ../shared and answering their requests in process.

A case's label is FILE/ID of public.jsonl and engine.jsonl, and FILE/FAULT.NUMBER of differences.jsonl, where FAULT is
the kind of fault in lower case with dashes. Those that are listed in deviations.txt are right as they are here.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from renderlayer.errors import RenderLayerError
from renderlayer.http.routes import ROUTES
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings

Case = dict[str, Any]
Json = Any

DEVIATIONS = Path(__file__).resolve().parents[2] / "layers" / "preprocessing" / "deviations.txt"
_VALUES = {"--tool-call-parser": "tool_call_parser", "--reasoning-parser": "reasoning_parser"}
_WORK = {route.path: route for route in ROUTES}
_NO_WORD = re.compile(r"[^a-z0-9_]+")


def read(shared: Path, name: str) -> list[Case]:
    """The lines of a case file, each with its label."""
    with (shared / "cases" / f"{name}.jsonl").open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    for number, case in enumerate(found):
        told = case.get("id") or case.get("name") or f"{_NO_WORD.sub('-', case['fault'].lower()).strip('-')}.{number}"
        case["label"] = f"{name}/{told}"
    return found


def listed(label: str) -> bool:
    """Whether a case differs from the reference on purpose."""
    lines = DEVIATIONS.read_text(encoding="utf-8").splitlines()
    patterns = (line.partition("#")[0].strip() for line in lines)
    return any(re.fullmatch(pattern, label) for pattern in patterns if pattern)


@cache
def comparison(shared: Path) -> ModuleType:
    """The comparison that ships with the recordings."""
    spec = importlib.util.spec_from_file_location("parity", shared / "tools" / "parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _packed(folder: Path) -> ServedModel:
    return ServedModel.open(Settings(model=str(folder), served_model_name=[folder.name]))


def serving(shared: Path, model: str, flags: Sequence[str]) -> ServedModel:
    """A server of one of the shared models, with flags as the reference takes them."""
    folder = shared / "models" / model
    values = {name: flags[flags.index(flag) + 1] for flag, name in _VALUES.items() if flag in flags}
    settings = Settings(
        model=str(folder),
        served_model_name=[folder.name],
        enable_auto_tool_choice="--enable-auto-tool-choice" in flags,
        **values,
    )
    return ServedModel(_packed(folder).model, settings)


def answer(server: ServedModel, path: str, body: Json) -> tuple[int, Json]:
    """Status and body of a POST."""
    try:
        return 200, json.loads(json.dumps(_WORK[path].work(body, server, None)))
    except RenderLayerError as error:
        return error.status, error.body()


def streamed(
    server: ServedModel, path: str, base: Mapping[str, Json], chunks: Iterable[Json]
) -> tuple[int, list[Json]]:
    """The chunks that chunks of the engine become, one call each; the last body where a call fails."""
    state, found = None, []
    for chunk in chunks:
        status, told = answer(server, path, {**base, "stream": True, "generate_chunk": chunk, "stream_state": state})
        if status != 200:
            return status, [told]
        state = told["stream_state"]
        found.append(told["chunk"])
    return 200, found


def in_chunks(response: Json, sizes: Sequence[int]) -> Iterator[Json]:
    """A whole answer of one choice as chunks with so many tokens; the last one has the rest and the finish reason."""
    (choice,) = response["choices"]
    tokens, position = choice["token_ids"], 0
    for number, size in enumerate(sizes):
        last = number == len(sizes) - 1 or position + size >= len(tokens)
        part = tokens[position:] if last else tokens[position : position + size]
        position += size
        ends = {key: choice.get(key) if last else None for key in ("finish_reason", "stop_reason")}
        yield {"request_id": response["request_id"], "choices": [{"index": 0, "token_ids": part, **ends}]}
        if last:
            return
