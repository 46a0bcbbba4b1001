"""A small gpt-oss: harmony's control tokens over a vocabulary made from nothing."""

from __future__ import annotations

import pytest

from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import make_model_folder, open_server

CONTROL = (
    "<|endoftext|>",
    "<|start|>",
    "<|end|>",
    "<|message|>",
    "<|channel|>",
    "<|constrain|>",
    "<|return|>",
    "<|call|>",
)
DATE = "2026-11-29"


@pytest.fixture(scope="session")
def harmony(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    """The model, served as `oss` with its tool parser, on a fixed day."""
    folder = make_model_folder(
        tmp_path_factory.mktemp("harmony") / "oss",
        config={"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"]},
        special_tokens=(*CONTROL, "<|im_end|>"),
    )
    settings = Settings(
        served_model_name=["oss"],
        system_start_date=DATE,
        tool_call_parser="openai",
        enable_auto_tool_choice=True,
        reasoning_effort_map={"max": "high"},
    )
    return open_server(folder, settings)
