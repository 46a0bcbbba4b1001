"""The command as a person meets it: help, mistakes, versions, completion."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local.batch_cloud import running_cloud
from renderlayer import __version__
from renderlayer.cli import main
from renderlayer.http.server.serve import add_arguments
from renderlayer.parsers.registry import TOOL_PARSERS
from tests.models import make_model_folder


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    line = [sys.executable, "-m", "renderlayer.cli", *arguments]
    return subprocess.run(line, env={**kept, **environment}, capture_output=True, text=True, check=False)


def test_every_flag_of_serve_is_in_a_group() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    titles = {
        group.title: [action.dest for action in group._group_actions if action.help != argparse.SUPPRESS]
        for group in parser._action_groups
    }
    assert titles["options"] == ["help"]
    assert "enable_auto_tool_choice" in titles["reasoning and tool calls"]
    assert "mm_payload" in titles["images, audio and video"]


def test_help_lists_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "tensors|none|reference|auto" in shown
    assert f"found when packing: {', '.join(TOOL_PARSERS)}" in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["serve", "m", "--port", "high"], "renderlayer serve: argument --port: 'high' is no number"),
        (["serve", "m", "--max-logprobs", "x"], "renderlayer serve: argument --max-logprobs: "),
        (["serv"], "renderlayer: argument COMMAND: invalid choice: 'serv'"),
        ([], "renderlayer: the following arguments are required: COMMAND"),
        (["serve", "--unheard-of"], "renderlayer: unrecognized arguments: --unheard-of"),
    ],
)
def test_a_mistake_is_told_in_a_line(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert shown.startswith(told)
    assert shown.count("\n") == 1
    assert shown.endswith("--help)\n")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"renderlayer {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    assert ended.value.code == 0
    assert "--tool-call-parser" in capsys.readouterr().out


def test_batches_without_credentials_or_a_bucket_are_told_in_a_line(tmp_path: Path) -> None:
    nobody = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true", "AWS_DEFAULT_REGION": "eu-central-1"}
    for address in ("s3://bucket", "s3://bucket/batches/in/a.jsonl"):
        done = command("batch", "status", address, **nobody)
        assert done.returncode == 2
        assert done.stderr.startswith("renderlayer: s3://bucket: no AWS credentials were found: ")
        assert done.stderr.count("\n") == 1
    with running_cloud("known") as cloud:
        here = {**nobody, **cloud.environment()}
        done = command("batch", "status", "s3://unknown", **here)
        assert (done.returncode, done.stderr) == (2, "renderlayer: s3://unknown: there is no such bucket\n")
        done = command("batch", "status", "s3://known", **here)
        assert (done.returncode, done.stderr) == (0, "")


def test_packing_tells_its_steps_and_a_mistake_in_a_line(tmp_path: Path) -> None:
    done = command("pack", str(make_model_folder(tmp_path / "model")), "-o", str(tmp_path / "out"))
    assert done.returncode == 0
    assert "trying which tokenizer engines equal Hugging Face's tokenizers, on 3,000 texts\n" in done.stderr
    assert "renderings equal to jinja2" in done.stdout
    done = command("pack", str(tmp_path), "-o", str(tmp_path / "other"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
