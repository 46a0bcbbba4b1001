from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.http.server.advice import advise
from renderlayer.settings import Settings


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("renderlayer"), "propagate", True)
    return caplog


def test_a_variable_that_is_no_setting(told: pytest.LogCaptureFixture) -> None:
    advise(Settings(), {"RENDERLAYER_ENGIN_URL": "x", "RENDERLAYER_MODEL": "m", "HOME": "/"})
    (line,) = told.messages
    assert "RENDERLAYER_ENGIN_URL" in line
    assert "RENDERLAYER_ENGINE_URL" in line


def test_parsers_that_are_not_switched_on(told: pytest.LogCaptureFixture) -> None:
    named = Settings(tool_call_parser="hermes")
    advise(named, {})
    assert "--enable-auto-tool-choice" in told.text
    told.clear()
    advise(replace(named, enable_auto_tool_choice=True), {})
    assert not told.messages
    with pytest.raises(ConfigurationError, match="hermez"):
        advise(Settings(tool_call_parser="hermez"), {})


def test_an_engine_url_with_v1(told: pytest.LogCaptureFixture) -> None:
    advise(Settings(engine_url="http://engine:8000/v1/"), {})
    assert "http://engine:8000" in told.text
    assert "/v1" in told.text
