"""What `make build` left, as Lambda runs it: the functions' Python, its runtime client, and the layers alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from infra.rehearsal.machine import ROOT, interpreter, runtime
from tests.bench.measure import beside, cold
from tests.events import http_api
from tests.pipeline.scripted import ScriptedEngine
from tests.runtime import Function

BUILT = ROOT / ".aws-sam/build"
HELLO = "tests.bench.hello.handler"
CHAT = '{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16}'
SHORT_CHAT = '{"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}'
TOKENS = (
    '{"generate_response": {"request_id": "bench", "choices": [{"index": 0, "token_ids": [9906], '
    '"finish_reason": "stop"}]}, "prompt_tokens": 9}'
)


def cold_starts(line: Callable[[str, str], None]) -> None:
    """Process start to first answer of the built functions, beside a hello world out of the same layer.

    Args:
        line: prints a name and a figure.
    """
    if not (BUILT / "template.yaml").exists() or interpreter() is None:
        line("cold start, built", "nothing is built for the functions' Python: make build")
        return
    layer, environment = BUILT / "PreprocessingLayer/python", {"PYTHONDONTWRITEBYTECODE": "1"}
    serving = {**environment, "RENDERLAYER_MODEL": str(BUILT / "ModelLayer/model")}
    handlers = {
        "hello world": (HELLO, environment, http_api("/hello", "{}")),
        "render": ("render.app.handler", serving, http_api("/v1/chat/completions/render", CHAT)),
        "derender": ("derender.app.handler", serving, http_api("/v1/chat/completions/derender", TOKENS)),
    }
    make = partial(Function, python=runtime(), paths=(layer, ROOT / "functions", ROOT))
    engine = ScriptedEngine([9906])
    engine.pause = 0
    with engine.served() as url:
        answering = {**serving, "RENDERLAYER_ENGINE_URL": url}
        handlers["front door"] = ("complete.app.handler", answering, http_api("/v1/chat/completions", SHORT_CHAT))
        for name, told in beside("hello world", cold(handlers, make)).items():
            line(f"cold start, built {name}", told)
