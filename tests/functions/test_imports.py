"""What a text request must not import: a cold start pays for every module."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

from tests.events import http_api
from tests.pipeline.scripted import ScriptedEngine
from tests.runtime import ROOT

TEXT = {
    "annotated_types",
    "aws_lambda_powertools",
    "jmespath",
    "mangum",
    "minijinja",
    "orjson",
    "pydantic",
    "pydantic_core",
    "renderlayer",
    "starlette",  # its types: what would import anyio is not
    "typing_extensions",
    "typing_inspection",
}
"""What a function may import beside the standard library, however it is asked."""
HEAVY = {"fastapi", "httpx", "httpx2", "jinja2", "numpy", "PIL", "requests", "tokenizers", "torch", "transformers"}
"""What a front door must not import; httpcore imports what it finds of trio, h2 and others, which a layer has not."""
ELSEWHERE = {
    "functions",
    "sitecustomize",
    "botocore",  # Powertools names itself to it, where it is
    "org",  # what Python on Java has; the standard library looks for it
    "markupsafe",  # of jinja2
}

PROGRAM = """
import json, sys
from functions.{name}.app import handler
result = handler(json.load(sys.stdin), None)
assert result["statusCode"] == 200, result
"""


def imported(program: str, event: dict[str, Any], environment: dict[str, str]) -> set[str]:
    """Top-level packages that a program imports, as `python -X importtime` tells."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        input=json.dumps(event),
        env={
            **os.environ,
            "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1",
            "PYTHONPATH": f"{ROOT / 'layers/preprocessing'}{os.pathsep}{ROOT}",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return {name.partition(".")[0] for name in re.findall(r"^import time:.*\| *([\w.]+)$", done.stderr, re.M)}


def foreign(name: str, path: str, body: dict[str, Any], server: Any, **environment: str) -> set[str]:
    """What a function imports that the standard library does not have, from its start to its first answer."""
    event = http_api(path, json.dumps(body))
    environment["RENDERLAYER_MODEL"] = server.settings.model
    packages = imported(PROGRAM.replace("{name}", name), event, environment)
    return {package for package in packages - sys.stdlib_module_names - ELSEWHERE if not package.startswith("_")}


def test_what_a_text_render_imports(server: Any) -> None:
    body = {"messages": [{"role": "user", "content": "Hello"}]}
    engines = {server.model.tokenizer.engine, server.model.facts.template_engine}
    assert foreign("render", "/v1/chat/completions/render", body, server) - engines <= TEXT


def test_what_a_derender_imports(server: Any) -> None:
    choice = {"index": 0, "token_ids": [1, 2], "finish_reason": "stop"}
    body = {"generate_response": {"request_id": "one", "choices": [choice]}, "prompt_tokens": 9}
    assert foreign("derender", "/v1/chat/completions/derender", body, server) <= TEXT


def test_what_a_front_door_imports(server: Any) -> None:
    engine = ScriptedEngine([1])
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    with engine.served() as url:
        packages = foreign("complete", "/v1/chat/completions", body, server, RENDERLAYER_ENGINE_URL=url)
    assert TEXT - packages < {"jmespath"}
    assert not packages & HEAVY - {server.model.tokenizer.engine}
