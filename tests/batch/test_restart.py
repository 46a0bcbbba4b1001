"""An engine that is stopped and started again in the middle of a batch: no line is lost, none is cut off."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local.batch_cloud import Cloud
from renderlayer.batch.steps.running import LineEndpoint
from renderlayer.batch.steps.sharder import Limits
from renderlayer.http.batch_endpoints import endpoints
from renderlayer.pipeline.engine import Engine
from renderlayer.settings import Settings
from tests.batch.steps import Steps, ids
from tests.local.test_run import environment
from tests.models import open_server
from tests.pipeline.loop import wait
from tests.ports import free_port
from tests.references.vision import make_vision_folder

URL = "/v1/completions"
LINES, TOKENS = 40, 64
READY = 300
"""Seconds in which an engine starts, or a batch ends."""


@contextmanager
def engine(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The embedded engine as a process, random weights, ready."""
    flags = ["--load-format", "dummy", "--served-model-name", "vision", "--max-model-len", "512", "--port", str(port)]
    command = [sys.executable, "-m", "infra.generate", "serve", str(folder), *flags]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: answers(port), process)
            yield process
        finally:
            process.terminate()


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health").is_success
    except httpx.TransportError:
        return False


def until(done: Any, process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(READY * 5):
        if done():
            return
        assert process is None or process.poll() is None
        threading.Event().wait(0.2)
    raise TimeoutError


@pytest.mark.long
def test_an_engine_that_is_restarted(cloud: Cloud, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = make_vision_folder(tmp_path / "vision")
    server = open_server(folder, Settings(served_model_name=["vision"]))
    body = {"model": "vision", "prompt": "Hello", "max_tokens": TOKENS, "ignore_eos": True, "temperature": 0}
    rows = [{"custom_id": f"r-{at}", "method": "POST", "url": URL, "body": body} for at in range(LINES)]
    port = free_port()
    client = Engine(f"http://127.0.0.1:{port}", refuse_aborted=True)
    door = endpoints(server, client)[URL]
    answered: list[str] = []

    def answer(body: Any, request_id: str) -> Any:
        found = door.answer(body, request_id)
        answered.append(request_id)
        return found

    steps = Steps(
        cloud, endpoints={URL: LineEndpoint(answer, waits=True)}, limits=Limits(1 << 20, LINES), concurrency=8
    )
    (shard,) = steps.split("".join(json.dumps(row) + "\n" for row in rows).encode())
    outcomes: list[dict[str, Any]] = []

    def work(message: dict[str, Any]) -> None:
        outcomes.append(steps.worker.receive(message, lambda: float("inf")))

    with engine(folder, port) as first:
        worker = threading.Thread(target=work, args=(shard.message(),))
        worker.start()
        until(lambda: answered)  # and others are under way
        first.terminate()
        worker.join()
    assert outcomes[0]["outcome"] == "returned"
    with engine(folder, port):
        until(lambda: receive(steps, work) and outcomes[-1]["outcome"] == "done")
    done = steps.part(shard)
    wait(client.aclose())
    assert ids(done) == [row["custom_id"] for row in rows]
    assert {row["response"]["body"]["usage"]["completion_tokens"] for row in done} == {TOKENS}
    assert {row["response"]["body"]["choices"][0]["finish_reason"] for row in done} == {"length"}


def receive(steps: Steps, work: Any) -> bool:
    """Work on the message that waits, when there is one."""
    messages = steps.received("work")
    for message in messages:
        work(message)
    return bool(messages)
