"""Every figure as a ratio to a peer that is measured beside it, in turns: a busy machine slows both alike."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from infra.rehearsal.machine import ROOT, interpreter, runtime
from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from tests.bench.built import BUILT, CHAT, HELLO, SHORT_CHAT, TOKENS
from tests.bench.measure import require, warm
from tests.bench.parsed import PARSERS, PATH, REQUEST, said
from tests.events import http_api
from tests.pipeline.scripted import ScriptedEngine
from tests.ports import free_port
from tests.reference.servers import READY, ours, reference
from tests.runtime import Function

ROUNDS = 9
EACH = 30
"""Requests whose median is one round of a warm figure."""
MODEL = "tiny-qwen3"
RENDER, DERENDER, TRANSFORMERS = (
    "functions.render.app.handler",
    "functions.derender.app.handler",
    "tests.bench.with_transformers.handler",
)
RENDER_PATH = "/v1/chat/completions/render"
PROSE = "The night train left Vienna at 22:47 with forty-one passengers; `retry(count=3)` would not have helped. " * 300

Measure = Callable[[], float]


@dataclass(frozen=True)
class Ratio:
    """A figure over its peer's, once a round; less is better."""

    name: str
    peer: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)


def in_turns(measures: Mapping[str, Measure], peers: Mapping[str, str], rounds: int = ROUNDS) -> Iterator[Ratio]:
    """Measure everything once a round, after one that does not count.

    Args:
        peers: for the name of each figure, the name of what it is compared with.
    """
    taken = [{name: measure() for name, measure in measures.items()} for _ in range(rounds + 1)][1:]
    for name, peer in peers.items():
        yield Ratio(name, peer, tuple(each[name] / each[peer] for each in taken))


def cold_starts(folder: Path, bundle: Path) -> Iterator[Ratio]:
    """Processor time from process start to first answer, of the built layer."""
    if not (BUILT / "template.yaml").exists() or interpreter() is None:
        raise SystemExit("nothing is built for the functions' Python: make build")
    layer, environment = BUILT / "PreprocessingLayer/python", {"PYTHONDONTWRITEBYTECODE": "1"}
    serving = {**environment, "RENDERLAYER_MODEL": str(BUILT / "ModelLayer/model")}
    make = partial(Function, python=runtime(), paths=(layer, ROOT / "functions", ROOT))
    engine = ScriptedEngine([9906])
    engine.pause = 0

    def start(make: Callable[..., Function], handler: str, settings: dict[str, str], event: dict[str, Any]) -> float:
        with make(handler, settings) as function:
            require(function.invoke(event))
            return function.processor_seconds()

    with engine.served() as url:
        answering = {**serving, "RENDERLAYER_ENGINE_URL": url}
        plain = {"RENDERLAYER_MODEL": str(bundle)}
        measures: dict[str, Measure] = {
            "hello world": partial(start, make, HELLO, environment, http_api("/hello", "{}")),
            "cold start, render": partial(start, make, "render.app.handler", serving, http_api(RENDER_PATH, CHAT)),
            "cold start, derender": partial(start, make, "derender.app.handler", serving, http_api(PATH, TOKENS)),
            "cold start, front door": partial(
                start, make, "complete.app.handler", answering, http_api("/v1/chat/completions", SHORT_CHAT)
            ),
            "transformers": partial(
                start, Function, TRANSFORMERS, {"BENCH_MODEL_FOLDER": str(folder)}, http_api(RENDER_PATH, CHAT)
            ),
            "cold start, render (Qwen3)": partial(start, Function, RENDER, plain, http_api(RENDER_PATH, CHAT)),
        }
        peers = dict.fromkeys(("cold start, render", "cold start, derender", "cold start, front door"), "hello world")
        yield from in_turns(measures, {**peers, "cold start, render (Qwen3)": "transformers"}, rounds=5)


def requests(folder: Path, bundle: Path) -> Iterator[Ratio]:
    """Warm requests over the runtime client."""
    long = json.dumps({"messages": [{"role": "user", "content": PROSE}], "max_tokens": 16})
    with ExitStack() as stack:
        settings = {"RENDERLAYER_MODEL": str(bundle), **PARSERS}
        hello, render, derender = (
            stack.enter_context(Function(handler, settings)) for handler in (HELLO, RENDER, DERENDER)
        )
        other = stack.enter_context(Function(TRANSFORMERS, {"BENCH_MODEL_FOLDER": str(folder)}))
        token = {"request_id": "bench", "choices": [{"index": 0, "token_ids": [9906], "finish_reason": None}]}
        chunk = {"stream": True, "generate_chunk": token, "prompt_token_ids": [1, 2], "chat_request": REQUEST}
        measures: dict[str, Measure] = {
            "hello world": partial(warm, hello, http_api("/hello", "{}"), EACH),
            "short chat": partial(warm, render, http_api(RENDER_PATH, CHAT), EACH),
            "one token derendered, parsers": partial(warm, derender, http_api(PATH, json.dumps(chunk)), EACH),
            "transformers, short": partial(warm, other, http_api(RENDER_PATH, CHAT), EACH),
            "transformers, long": partial(warm, other, http_api(RENDER_PATH, long), EACH),
            "short chat ": partial(warm, render, http_api(RENDER_PATH, CHAT), EACH),
            "long chat": partial(warm, render, http_api(RENDER_PATH, long), EACH),
        }
        peers = {
            "short chat": "hello world",
            "one token derendered, parsers": "hello world",
            "short chat ": "transformers, short",
            "long chat": "transformers, long",
        }
        yield from in_turns(measures, peers)


def beside_reference(where: Path) -> Iterator[Ratio]:
    """Over HTTP, our server beside the reference's, and beside its other one, which renders text alone."""
    with TemporaryDirectory() as scratch:
        pack(where / "models" / MODEL, Path(scratch) / "bundle")
        answer = said(open_bundle(Path(scratch) / "bundle").tokenizer, 512)
    short, long = (
        {"model": MODEL, "messages": [{"role": "user", "content": text}]} for text in ("Hello, who are you?", PROSE)
    )
    choice = {"index": 0, "token_ids": answer, "finish_reason": "length"}
    whole = {
        "model": MODEL,
        "generate_response": {"request_id": "bench", "choices": [choice]},
        "prompt_token_ids": [1, 2],
        "chat_request": {**REQUEST, "model": MODEL},
    }
    with ExitStack() as stack:
        mine = httpx.Client(base_url=stack.enter_context(ours(where, MODEL, ())), timeout=60)
        vllm = httpx.Client(base_url=stack.enter_context(reference(where, MODEL, ())), timeout=60)
        rust = httpx.Client(base_url=stack.enter_context(other_reference(where)), timeout=60)
        for client in (mine, vllm, rust):
            stack.callback(client.close)
        measures: dict[str, Measure] = {
            "short chat, HTTP": partial(posted, mine, RENDER_PATH, short),
            "vLLM, short": partial(posted, vllm, RENDER_PATH, short),
            "vllm-rs, short": partial(posted, rust, RENDER_PATH, short),
            "long chat, HTTP": partial(posted, mine, RENDER_PATH, long),
            "vLLM, long": partial(posted, vllm, RENDER_PATH, long),
            "vllm-rs, long": partial(posted, rust, RENDER_PATH, long),
            "derender of 512 tokens, HTTP": partial(posted, mine, PATH, whole),
            "vLLM, derender": partial(posted, vllm, PATH, whole),
            "short chat, HTTP ": partial(posted, mine, RENDER_PATH, short),
            "long chat, HTTP ": partial(posted, mine, RENDER_PATH, long),
        }
        peers = {
            "short chat, HTTP": "vLLM, short",
            "long chat, HTTP": "vLLM, long",
            "derender of 512 tokens, HTTP": "vLLM, derender",
            "short chat, HTTP ": "vllm-rs, short",
            "long chat, HTTP ": "vllm-rs, long",
        }
        yield from in_turns(measures, peers)


def posted(client: httpx.Client, path: str, body: dict[str, Any]) -> float:
    """Median seconds of one request, repeated."""
    taken = []
    for _ in range(EACH):
        began = time.perf_counter()
        client.post(path, json=body).raise_for_status()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


@contextmanager
def other_reference(where: Path) -> Iterator[str]:
    """The reference's other server, by its scripts `rs NAME PORT MODEL` and `stop NAME`."""
    port = free_port()
    name = f"bench-{port}"
    try:
        subprocess.run([where / "rs", name, str(port), MODEL], check=False, timeout=READY)
        yield f"http://127.0.0.1:{port}"
    finally:
        subprocess.run([where / "stop", name], check=False, timeout=60)
