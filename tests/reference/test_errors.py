"""To wrong values our server answers what the reference answers: status, type and the field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from renderlayer.http.app import create_app
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import open_server
from tests.reference.errors import FILE, PATHS, bodies, outcome

TABLE: dict[str, dict[str, dict[str, Any]]] = json.loads(FILE.read_bytes())
LISTED: dict[tuple[str, str], str] = {}
"""(field, value as JSON; "*": all) → why the answer differs on purpose."""


@pytest.fixture(scope="module")
def http(model_folder: Path) -> Iterator[TestClient]:
    settings = Settings(tool_call_parser="hermes", reasoning_parser="qwen3", enable_auto_tool_choice=True)
    opened = open_server(model_folder, settings)
    changed = replace(opened.settings, served_model_name=["small"])
    with TestClient(
        create_app(changed, server=ServedModel(opened.model, changed)), raise_server_exceptions=False
    ) as client:
        yield client


@pytest.mark.parametrize("path", sorted(PATHS))
def test_wrong_values_are_told_as_the_reference_tells_them(http: TestClient, path: str) -> None:
    differing = []
    for field, values in bodies("small")[path].items():
        for value, body in values.items():
            want = TABLE[path][field][value]
            answer = http.post(path, json=body)
            got = outcome(answer.status_code, answer.json())
            crashed = want != "ok" and want[0] >= 500 and got != "ok" and got[0] < 500
            if got != want and not crashed and (field, value) not in LISTED and (field, "*") not in LISTED:
                differing.append((field, value, want, got))

    assert differing == []
