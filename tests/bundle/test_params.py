"""Folders of Mistral's own format, `params.json` and `tekken.json` alone (wire.md 3.7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.bundle.pack.limits import derive_max_model_len
from renderlayer.bundle.pack.params import config_of
from renderlayer.cli import main
from renderlayer.render.chat import render_chat
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.models import open_server
from tests.render.renderers.mistral_models import make_tekken_folder

VISION = {"hidden_size": 64, "patch_size": 14, "image_size": 224, "image_token_id": 10}
QUESTION: list[dict[str, Any]] = [{"role": "user", "content": "What is [INST] the capital?"}]


def params_folder(folder: Path, **fields: Any) -> Path:
    make_tekken_folder(folder, "v11")
    for name in ("config.json", "generation_config.json"):
        (folder / name).unlink()
    (folder / "params.json").write_text(json.dumps({"dim": 64, "vocab_size": 600, **fields}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ({}, 128_000),
        ({"max_position_embeddings": 4096}, 4096),
        ({"max_seq_len": 2048, "max_position_embeddings": 4096}, 2048),
        ({"yarn": {"factor": 4, "original_max_position_embeddings": 1000}}, 4000),
        ({"vision_encoder": VISION, "max_position_embeddings": 4096}, 4096),
    ],
)
def test_context_length(fields: dict[str, Any], length: int) -> None:
    assert derive_max_model_len(config_of({"dim": 64, **fields})) == length


@pytest.mark.parametrize("fields", [{}, {"vision_encoder": VISION}], ids=["text", "images"])
def test_prompts_are_those_of_mistral_common(tmp_path: Path, fields: dict[str, Any]) -> None:
    tokenizers = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    requests = pytest.importorskip("mistral_common.protocol.instruct.request")
    folder = params_folder(tmp_path / "m", **fields)
    server = open_server(folder, Settings())
    body = render_chat(parse(ChatCompletionRequest, {"messages": QUESTION}), server)
    theirs = tokenizers.MistralTokenizer.from_file(folder / "tekken.json")
    request = requests.ChatCompletionRequest.from_openai(QUESTION)
    assert body["token_ids"] == theirs.encode_chat_completion(request).tokens


def test_images_are_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mistral_common")
    folder = params_folder(tmp_path / "m", vision_encoder=VISION)
    assert main(["pack", str(folder), "-o", str(tmp_path / "out")]) == 0
    words = "image is refused: media of PixtralForConditionalGeneration are not rendered here"
    assert f"warning: {words}" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "out")]) == 0
    assert "image  refused: media of Pixtral" in capsys.readouterr().out


def test_a_mixture_of_experts_is_known_by_its_name(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    folder = params_folder(tmp_path / "m", moe={"num_experts": 8})
    assert open_bundle(pack(folder, tmp_path / "out")).facts.config["architectures"] == ["MixtralForCausalLM"]
