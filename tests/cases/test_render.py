"""Every render and tokenize line of the case files: answered as by the reference, or listed in deviations.txt."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from renderlayer.served_model import ServedModel
from tests.cases.cases import Case, answer, comparison, listed, read, serving
from tests.conftest import SHARED

Json = Any
TAIL = "token_ids_tail"
DAY = "2026-11-29"
"""When the lines were recorded; gpt-oss is told the day."""


def cases() -> list[Case]:
    found = read(SHARED, "differences") if SHARED.is_dir() else []
    return [case for case in found if "/derender" not in case["path"]]


def excerpt(want: Json, status: int, body: Json) -> Json:
    """Of an answer, what the case tells of the reference's."""
    if "body" in want:
        return {"status": status, "body": body}
    shown = body[0] if isinstance(body, list) else body
    out = {"status": status, **{key: shown.get(key) for key in want if key not in ("status", TAIL)}}
    if TAIL in want:
        out[TAIL] = shown["token_ids"][-len(want[TAIL]) :]
    if isinstance(out.get("sampling_params"), dict):
        out["sampling_params"] = {key: out["sampling_params"].get(key) for key in want["sampling_params"]}
    if "structured_outputs" in want:
        out["structured_outputs"] = shown["sampling_params"]["structured_outputs"]["structural_tag"]
    return {key: value for key, value in out.items() if key in want}


def comparable(want: Json, got: Json) -> tuple[Json, Json]:
    """Both, with what the case holds as text: of a body its value, of a grammar as much as the case has room for."""
    if "body" in want:
        return {**want, "body": json.loads(want["body"])}, got
    if "structured_outputs" in want:
        begun = want["structured_outputs"].rstrip("…")
        return {**want, "structured_outputs": begun}, {
            **got,
            "structured_outputs": got["structured_outputs"][: len(begun)],
        }
    return want, got


@pytest.mark.parametrize("case", [pytest.param(case, id=case["label"]) for case in cases()])
def test_random_request(case: Case, shared: Path) -> None:
    want = case["reference_answer_excerpt"]
    server = serving(shared, case["model"], case["flags"])
    server = ServedModel(server.model, replace(server.settings, system_start_date=DAY))
    got = excerpt(want, *answer(server, case["path"], case["request"]))
    parity = comparison(shared)
    if "error" in want:
        same = got.get("status") == want["status"]
        found = parity.error_diff(want, got)[0] if same else f"status {got.get('status')}"
    else:
        found = parity.diff(*comparable(want, got))

    assert found is None or listed(case["label"]), found
