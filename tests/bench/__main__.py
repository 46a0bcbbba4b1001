"""`make bench`: what a function costs, beside the least function that FastAPI and Mangum make.

Measures on a Qwen3 tokenizer where one lies beside the project, else on the default model of the demo.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from renderlayer.bundle.pack import pack
from tests.bench import built
from tests.bench.measure import answer, beside, cold, stream, warm
from tests.bench.parsed import parsed_answers
from tests.events import http_api
from tests.runtime import Function

QWEN3 = Path(__file__).parents[3] / "shared/models/tiny-qwen3"
RENDER, DERENDER = "functions.render.app.handler", "functions.derender.app.handler"
HELLO, TRANSFORMERS = "tests.bench.hello.handler", "tests.bench.with_transformers.handler"
PATH = "/v1/chat/completions/render"
PROSE = (
    "The night train left Vienna at 22:47 with forty-one passengers, three of whom had no reservation. "
    "By Linz the dining car had run out of soup; `retry(count=3)` would not have helped. "
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--model", type=Path, help="model folder (default: tiny-qwen3, or the demo's model)")
    parser.add_argument("--cold", action="store_true", help="measure cold starts only")
    arguments = parser.parse_args()
    folder = arguments.model or default_model()
    with TemporaryDirectory() as scratch:
        bundle = Path(scratch) / "bundle"
        print(f"packing {folder.name}", flush=True)
        pack(folder, bundle)
        cold_starts(folder, bundle)
        built.cold_starts(line)
        if not arguments.cold:
            derenders(bundle, renders(bundle))
            for name, figure in parsed_answers(DERENDER, bundle):
                line(name, figure)


def default_model() -> Path:
    """The folder that is measured when none is named."""
    if QWEN3.is_dir():
        return QWEN3
    from infra.generate.model import smollm2

    return smollm2.ensure()


def cold_starts(folder: Path, bundle: Path) -> None:
    """Process start to first answer: of hello world, of render, and of `transformers` where it is installed."""
    handlers = {
        "hello world": (HELLO, {}, http_api("/hello", "{}")),
        "render": (RENDER, settings(bundle), chat("Hello")),
    }
    if find_spec("transformers"):
        handlers["transformers"] = (TRANSFORMERS, {"BENCH_MODEL_FOLDER": str(folder)}, chat("Hello"))
    for name, told in beside("hello world", cold(handlers)).items():
        line(f"cold start, {name}", told)


def renders(bundle: Path) -> list[int]:
    """Warm renders of a short and a long chat, and the memory of both; the long chat's token ids."""
    with Function(HELLO) as function:
        line("hello world, warm", f"{warm(function, http_api('/hello', '{}')):7.2f} ms")
    with Function(RENDER, settings(bundle)) as function:
        long = chat(PROSE * 160)
        token_ids: list[int] = answer(function, long)["token_ids"]
        long = chat((PROSE * 160)[: len(PROSE) * 160 * 8000 // len(token_ids)])
        token_ids = answer(function, long)["token_ids"]
        line("short chat", f"{warm(function, chat('Hello, who are you?')):7.2f} ms")
        line(f"chat of {len(token_ids)} tokens", f"{warm(function, long):7.2f} ms")
        line("peak memory", f"{function.peak_megabytes():7.0f} MB")
    return token_ids


def derenders(bundle: Path, token_ids: list[int]) -> None:
    """A whole derender, and streams of one token a chunk, whose cost a chunk should not depend on their length."""
    with Function(DERENDER, settings(bundle)) as function:
        choice = {"index": 0, "token_ids": token_ids[:512], "finish_reason": "stop"}
        whole = {"generate_response": {"request_id": "bench", "choices": [choice]}, "prompt_tokens": 9}
        event = http_api("/v1/chat/completions/derender", json.dumps(whole))
        line("derender of 512 tokens", f"{warm(function, event):7.2f} ms")
        per_chunk = {count: stream(function, token_ids[:count], chunk) / count for count in (500, 2000)}
    for count, each in per_chunk.items():
        ratio = each / per_chunk[500]
        line(f"derender of {count} chunks", f"{each * count:7.0f} ms   {each:.2f} ms a chunk   {ratio:.2f} x")


def chunk(token_id: int, state: Any) -> dict[str, Any]:
    """The request of one chunk of a stream."""
    choice = {"index": 0, "token_ids": [token_id], "finish_reason": None}
    generated = {"request_id": "bench", "choices": [choice]}
    return {"stream": True, "generate_chunk": generated, "stream_state": state, "prompt_tokens": 9}


def chat(content: str) -> dict[str, Any]:
    """The event of a chat with one message."""
    return http_api(PATH, json.dumps({"messages": [{"role": "user", "content": content}], "max_tokens": 16}))


def settings(bundle: Path) -> dict[str, str]:
    return {"RENDERLAYER_MODEL": str(bundle)}


def line(name: str, value: str) -> None:
    print(f"{name:28}{value}", flush=True)


if __name__ == "__main__":
    main()
