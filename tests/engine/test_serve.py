"""The command: flags, middleware, readiness, an orderly stop."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.generate import options
from infra.generate.model.smollm2 import NAME
from infra.generate.options import Options
from infra.generate.serve import imported, named, wrap
from renderlayer.errors import ConfigurationError
from renderlayer.settings import Settings
from tests.engine.serving import GENERATE

ROOT = Path(__file__).resolve().parents[2]
RECORDED = (
    "models/tiny --served-model-name tiny --enable-scale-out --enforce-eager --max-model-len 4096 --max-num-seqs 8 "
    "--max-num-batched-tokens 4096 --host 127.0.0.1 --port 9"
)


def parsed(line: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    return parser.parse_args(line.split())


def test_the_flags_of_the_reference() -> None:
    arguments = parsed(RECORDED)
    assert Options.from_arguments(arguments) == Options(max_num_seqs=8, max_num_batched_tokens=4096)
    settings = Settings.from_arguments(arguments)
    assert (settings.model, settings.served_model_name, settings.max_model_len) == ("models/tiny", ["tiny"], 4096)


def test_flags_without_effect_are_taken() -> None:
    line = " ".join(f"{flag} {'1' * count}" for flag, count in options.IGNORED.items())
    assert Options.from_arguments(parsed(line)) == Options()


@pytest.mark.parametrize("line", ["--max-num-seqs 0", "--dtype int8", "--unheard-of"])
def test_mistakes_end_with_usage(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed(line)
    assert "usage" in capsys.readouterr().err


def test_a_model_is_called_as_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "renderlayer" / "models" / NAME).mkdir(parents=True)
    for given in ("", NAME):
        settings = named(Settings(model=given))
        assert (Path(settings.model).name, settings.served_model_name) == (NAME, [NAME])
    assert named(Settings(model="a/b", served_model_name=["c"])).served_model_name == ["c"]


class Marker:
    """An ASGI middleware that answers one path itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = Response("marked") if scope.get("path") == "/marked" else self.app
        await answer(scope, receive, send)


async def stamp(request: Request, call_next: object) -> Response:
    response: Response = await call_next(request)  # type: ignore[operator]
    response.headers["x-stamp"] = "1"
    return response


def test_middlewares_wrap_the_application() -> None:
    app = FastAPI()
    for name in ("Marker", "stamp"):
        wrap(app, imported(f"{__name__}.{name}"))
    response = TestClient(app).get("/marked")
    assert (response.text, response.headers["x-stamp"]) == ("marked", "1")


@pytest.mark.parametrize("path", ["nowhere.Thing", f"{__name__}.nothing", "plain"])
def test_middlewares_that_are_not_there(path: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(path)):
        imported(path)


def test_middlewares_that_are_none() -> None:
    with pytest.raises(ConfigurationError):
        wrap(FastAPI(), len)


@pytest.mark.long
def test_the_process_says_when_it_is_ready_and_stops_in_order(tiny_folder: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "layers" / "preprocessing")]),
    }
    command = [sys.executable, "-m", "infra.generate", "serve", str(tiny_folder), "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "loading" in process.stdout.readline()
        url = re.search(r"http://\S+", process.stdout.readline())
        assert url is not None
        body = {"token_ids": [5], "sampling_params": {"max_tokens": 1000, "ignore_eos": True}, "stream": True}
        with httpx.stream("POST", url[0] + GENERATE, json=body, timeout=60, trust_env=False) as response:
            lines = response.iter_lines()
            next(lines)
            process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line]
        assert '"finish_reason":"abort"' in rest[-2]
        assert rest[-1] == "data: [DONE]"
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
