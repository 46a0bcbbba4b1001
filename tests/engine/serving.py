"""The engine behind a real socket, in this process."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from transformers import PreTrainedModel

from infra.generate.decoding.sampling import SamplingParams
from infra.generate.engine import Engine, Run
from infra.generate.options import Options
from infra.generate.serve import build
from renderlayer.served_model import ServedModel
from renderlayer.wire.generate import GenerateRequest

GENERATE = "/inference/v1/generate"


class WatchedEngine(Engine):
    """An engine that remembers what it was asked to run."""

    runs: list[Run]

    def open(self, request_id: str, request: GenerateRequest, params: SamplingParams) -> Run:
        run = super().open(request_id, request, params)
        self.runs.append(run)
        return run


@dataclass
class Service:
    """A running engine and a client for it."""

    engine: WatchedEngine
    client: httpx.Client

    def post(self, **body: Any) -> httpx.Response:
        return self.client.post(GENERATE, json=body)

    def generate(self, token_ids: list[int], **params: Any) -> dict[str, Any]:
        """The whole answer to a prompt; greedy unless `params` say otherwise."""
        response = self.post(token_ids=token_ids, sampling_params={"temperature": 0, **params})
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def tokens(self, token_ids: list[int], **params: Any) -> list[int]:
        """The tokens of the only choice."""
        tokens: list[int] = self.generate(token_ids, **params)["choices"][0]["token_ids"]
        return tokens

    def events(self, **body: Any) -> list[dict[str, Any]]:
        """The events of a stream, without the closing [DONE], which must be there."""
        response = self.post(stream=True, **body)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        parts = response.text.split("\n\n")
        assert parts[-2:] == ["data: [DONE]", ""]
        return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]


@contextmanager
def served(server: ServedModel, model: PreTrainedModel, options: Options) -> Iterator[Service]:
    """Serve a model on a free port of the loopback interface."""
    engine = WatchedEngine(server, model, options)
    engine.runs = []
    config = uvicorn.Config(build(engine, options), port=0, lifespan="off", ws="none", log_level="warning")
    http = uvicorn.Server(config)
    started = threading.Event()

    async def main() -> None:
        sockets = [config.bind_socket()]
        ports.append(sockets[0].getsockname()[1])
        started.set()
        await http.serve(sockets)

    ports: list[int] = []
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    engine.start()
    thread.start()
    started.wait()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{ports[0]}", timeout=120, trust_env=False) as client:
            yield Service(engine, client)
    finally:
        engine.close()
        http.should_exit = True
        thread.join()
