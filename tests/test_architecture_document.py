"""docs/architecture.md tells what happens: its files exist, and two of its flows are what a profiler sees."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import renderlayer

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(renderlayer.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
RENDER, DERENDER = re.split(r"^## \d\. ", PAGE, flags=re.MULTILINE)[1:3]
MOST_OF_RENDER, MOST_OF_DERENDER = 30, 41
"""Files that a request may pass through: a new station is to take the place of another."""
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
CHAT = {"messages": [{"role": "user", "content": "Hello"}], "tools": TOOLS}
PROGRAM = """
import importlib, json, os, sys, threading
from tests.events.context import FakeContext
from tests.events.http_api import http_api

function, path, bodies = sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
package = sys.argv[1] + os.sep
FakeContext.get_remaining_time_in_millis = lambda self: 30_000
handler = importlib.import_module(f"functions.{function}.app").handler
seen = set()


def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(package):
        seen.add(frame.f_code.co_filename[len(package) :].replace(os.sep, "/"))


state = {}
for body in bodies:
    event = http_api(path, json.dumps({**body, **state}))
    handler(event, FakeContext())  # what is made once is made
    seen.clear()
    threading.setprofile(watch)
    sys.setprofile(watch)
    result = handler(event, FakeContext())
    sys.setprofile(None)
    threading.setprofile(None)
    assert result["statusCode"] == 200, result["body"]
    state = {key: value for key, value in json.loads(result["body"]).items() if key == "stream_state"}
print(json.dumps(sorted(seen)))
"""


def named(text: str) -> set[str]:
    """The files in the stations' rows."""
    rows = "\n".join(line.split("|")[2] for line in text.splitlines() if line.startswith("|"))
    return set(re.findall(r"`([a-z_0-9/]+\.py)`", rows))


def seen(model: Path, function: str, bodies: list[dict[str, Any]]) -> set[str]:
    """The files that the last of these requests passes through."""
    settings = {
        "RENDERLAYER_MODEL": str(model),
        "RENDERLAYER_TOOL_CALL_PARSER": "hermes",
        "RENDERLAYER_REASONING_PARSER": "qwen3",
        "RENDERLAYER_ENABLE_AUTO_TOOL_CHOICE": "true",
    }
    call = [str(PACKAGE), function, f"/v1/chat/completions/{function}", json.dumps(bodies)]
    command = [sys.executable, "-c", PROGRAM, *call]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([a-z_0-9/]+\.py)`", PAGE))))
def test_the_files_of_the_page_exist(path: str) -> None:
    assert (PACKAGE / path).is_file() or (ROOT / path).is_file()


def test_a_render_passes_the_files_of_the_page(model_folder: Path) -> None:
    passed = seen(model_folder, "render", [CHAT])
    assert passed == named(RENDER)
    assert len(passed) <= MOST_OF_RENDER


def test_a_derendered_chunk_passes_the_files_of_the_page(model_folder: Path) -> None:
    context = {"stream": True, "chat_request": CHAT, "prompt_token_ids": [1, 2]}
    bodies = [{**context, "generate_chunk": chunk([token_id])} for token_id in (300, 301)]
    passed = seen(model_folder, "derender", bodies)
    assert named(DERENDER) <= passed
    assert passed - named(DERENDER) <= named(RENDER)
    assert len(passed) <= MOST_OF_DERENDER


def chunk(token_ids: list[int]) -> dict[str, Any]:
    return {"request_id": "generate-1", "choices": [{"index": 0, "token_ids": token_ids, "finish_reason": None}]}
