"""What a text request must not import: a cold start pays for every module."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

from tests.events import http_api
from tests.runtime import ROOT

HEAVY = {
    "torch",
    "transformers",
    "numpy",
    "PIL",
    "boto3",
    "huggingface_hub",
    "tokenizers",
    "fastokens",
    "uvicorn",
    "fastapi",
}

PROGRAM = """
import json, sys
from functions.render.app import handler
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


def test_a_text_render_imports_nothing_heavy(server: Any) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "Hello"}]})
    packages = imported(
        PROGRAM, http_api("/v1/chat/completions/render", body), {"RENDERLAYER_MODEL": server.settings.model}
    )
    assert "renderlayer" in packages
    assert packages.isdisjoint(HEAVY - {"tokenizers"})
    engines = {server.model.tokenizer.engine, server.model.facts.template_engine}
    assert packages.isdisjoint({"tokenizers", "jinja2"} - engines)
