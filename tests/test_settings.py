"""The one table of settings, from the environment and from flags."""

from __future__ import annotations

import argparse

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.flags import add_flags
from renderlayer.settings import Settings, table


def from_flags(*arguments: str) -> Settings:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return Settings.from_arguments(parser.parse_args(arguments), Settings())


def test_environment() -> None:
    settings = Settings.from_environment(
        {
            "RENDERLAYER_MODEL": "m",
            "RENDERLAYER_SERVED_MODEL_NAME": "a, b",
            "RENDERLAYER_MAX_MODEL_LEN": "512",
            "RENDERLAYER_ENABLE_AUTO_TOOL_CHOICE": "true",
            "RENDERLAYER_LIMIT_MM_PER_PROMPT": '{"image": 2}',
            "OTHER": "x",
        }
    )
    assert (settings.model, settings.served_model_name, settings.max_model_len) == ("m", ["a", "b"], 512)
    assert settings.enable_auto_tool_choice is True
    assert settings.limit_mm_per_prompt == {"image": 2}


def test_flags_beat_the_environment() -> None:
    settings = from_flags(
        "folder", "--served-model-name", "a", "b", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"
    )
    assert (settings.model, settings.served_model_name, settings.tool_call_parser) == ("folder", ["a", "b"], "hermes")
    assert settings.enable_auto_tool_choice is True


def test_environment_and_settings_are_inverse() -> None:
    settings = from_flags("folder", "--limit-mm-per-prompt", '{"image": 2}', "--api-key", "k", "--max-logprobs", "-1")
    assert Settings.from_environment(settings.environment()) == settings


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MAX_MODEL_LEN", "many"),
        ("MAX_MODEL_LEN", "0"),
        ("LIMIT_MM_PER_PROMPT", "[1]"),
        ("ENABLE_AUTO_TOOL_CHOICE", "perhaps"),
        ("CHAT_TEMPLATE_CONTENT_FORMAT", "other"),
        ("REASONING_EFFORT_MAP", '{"huge": "high"}'),
        ("MAX_IMAGE_PIXELS", "0"),
        ("MAX_MEDIA_REQUEST_BYTES", "-1"),
        ("IMAGE_FETCH_SECONDS", "0"),
        ("VIDEO_FETCH_SECONDS", "inf"),
        ("MEDIA_REDIRECTS", "-1"),
        ("LIMIT_MM_PER_PROMPT", '{"image": "two"}'),
        ("LIMIT_MM_PER_PROMPT", '{"video": {"count": -1}}'),
        ("MEDIA_IO_KWARGS", '{"image": "RGB"}'),
        ("ALLOWED_MEDIA_NETWORKS", "10.0.0.0/8,home"),
        ("REASONING_EFFORT_MAP", '{"low": 5}'),
        ("MAX_BODY_BYTES", "0"),
        ("TEMPLATE_SECONDS", "nan"),
        ("BATCH_HOURS", "inf"),
        ("BATCH_CONCURRENCY", "0"),
        ("SYSTEM_START_DATE", "yesterday"),
        ("ENGINE_URL", "localhost:8081"),
        ("ENGINE_URL", "http://["),
        ("ROOT_PATH", "prod"),
    ],
)
def test_values_that_cannot_work(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=name.lower() + "|" + name):
        Settings.from_environment({"RENDERLAYER_" + name: text})


def test_every_row_is_documented() -> None:
    assert all(about for _, _, _, about in table())
