"""Lines that generate, over the embedded engine with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud
from renderlayer.batch.storage import keys
from renderlayer.http.batch_endpoints import endpoints
from renderlayer.settings import Settings
from tests.batch.steps import Steps, ids
from tests.models import open_server
from tests.references.embedded import engine, one_thread
from tests.references.vision import make_vision_folder

__all__ = ["one_thread"]

CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3, "temperature": 0}
LINES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", CHAT),
    ("/v1/completions", {"prompt": ["Hello", "world"], "max_tokens": 3, "temperature": 0}),
    ("/v1/responses", {"input": "Hello", "max_output_tokens": 3, "temperature": 0}),
    ("/v1/messages", CHAT),
    ("/v1/chat/completions", {**CHAT, "stream": True}),
    ("/v1/chat/completions", {**CHAT, "max_tokens": -1}),
    ("/v1/chat/completions/render", CHAT),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vision_folder(tmp_path_factory.mktemp("models") / "vision")


@pytest.mark.long
def test_all_kinds_of_lines(cloud: Cloud, folder: Path) -> None:
    server = open_server(folder, Settings(served_model_name=["vision"], reference_bucket=cloud.bucket))
    rows = [
        {"custom_id": f"r-{at}", "method": "POST", "url": url, "body": {"model": "vision", **body}}
        for at, (url, body) in enumerate(LINES)
    ]
    with engine(folder, server) as client:
        steps = Steps(cloud, endpoints=endpoints(server, client))
        steps.bucket.write(keys.INBOX + "f", "\n".join(map(json.dumps, rows)).encode())
        steps.finish()
    batch = steps.batch()
    output, errors = (steps.rows(batch[name]) for name in ("output_file_id", "error_file_id"))
    assert ids(output) == ["r-0", "r-1", "r-2", "r-3", "r-6"]
    chat, completion, response, message, rendered = (row["response"]["body"] for row in output)
    assert chat["usage"]["completion_tokens"] == 3
    assert chat["id"] == f"chatcmpl-{batch['id']}-1"
    assert len(completion["choices"]) == 2
    assert response["usage"]["output_tokens"] == message["usage"]["output_tokens"] == 3
    assert rendered["token_ids"]
    assert ids(errors) == ["r-4", "r-5"]
    assert errors[0]["error"]["code"] == "invalid_body"
    assert errors[1]["response"]["status_code"] == 400
