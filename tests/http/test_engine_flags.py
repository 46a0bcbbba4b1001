"""Flags of vLLM that mean nothing here."""

from __future__ import annotations

import argparse

import pytest

from renderlayer.http.server.serve import add_arguments
from renderlayer.settings import Settings


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


def test_they_are_taken_and_said_to_be_ignored(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--trust-remote-code", "--load-format=dummy", "-tp", "2", "--no-enable-prefix-caching", "--dtype", "auto"]
    given = parsed("folder", *flags, "--max-logprobs", "5")
    assert vars(given) == vars(parsed("folder", "--max-logprobs", "5"))
    said = capsys.readouterr().err.splitlines()
    assert said == [f"{flag.partition('=')[0]} is for an engine and is ignored" for flag in flags if flag[0] == "-"]


def test_what_would_change_answers_is_still_refused() -> None:
    for flag in ("--enable-lora", "--hf-overrides={}", "--tokenizer=other"):
        with pytest.raises(SystemExit):
            parsed("folder", flag)


def test_settings_come_through() -> None:
    given = parsed("folder", "--trust-remote-code", "--served-model-name", "a")
    assert Settings.from_arguments(given, Settings()).served_model_name == ["a"]
