"""A server without the optional packages for media."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from renderlayer.http.app import create_app
from renderlayer.http.routes import ROUTES
from renderlayer.settings import Settings
from tests.models import make_model_folder, open_server
from tests.multimodal.conftest import QWEN_FILES, QWEN_TOKENS
from tests.multimodal.images import data_url, encoded, picture

IMAGE = {"type": "image_url", "image_url": {"url": data_url(encoded(picture(64, 64)), "image/png")}}


def test_a_module_of_its_own_that_is_missing_is_no_optional_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = open_server(make_model_folder(tmp_path / "small"), Settings(served_model_name=["small"]))
    client = TestClient(create_app(server.settings, server=server), raise_server_exceptions=False)
    monkeypatch.setitem(sys.modules, "renderlayer.render.messages.render", None)
    for route in ROUTES:  # what other tests have opened
        monkeypatch.delitem(vars(route), "work", raising=False)
    body = {"model": "small", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello"}]}
    answer = client.post("/v1/messages/render", json=body)
    assert answer.status_code == 501
    message = answer.json()["error"]["message"]
    assert "renderlayer.render.messages.render is missing" in message and "extra" not in message


def test_media_are_refused_by_the_missing_package_s_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"]}
    folder = make_model_folder(tmp_path / "seer", config=config, special_tokens=("<|endoftext|>", *QWEN_TOKENS))
    for name, content in QWEN_FILES.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    server = open_server(folder, Settings(served_model_name=["seer"]))
    client = TestClient(create_app(server.settings, server=server), raise_server_exceptions=False)
    monkeypatch.setitem(sys.modules, "blake3", None)
    answers = [
        client.post("/v1/chat/completions/render", json={"messages": [{"role": "user", "content": content}]})
        for content in ([IMAGE], "Hello")
    ]
    assert [answer.status_code for answer in answers] == [501, 200]
    assert "blake3" in answers[0].json()["error"]["message"]
