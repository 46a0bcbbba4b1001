"""The middleware over vLLM itself, where it is installed: the same answer by reference as inline."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from renderlayer.pipeline.engine import Engine, EngineError
from renderlayer.references.address import Address
from renderlayer.served_model import ServedModel
from tests.pipeline.loop import wait
from tests.references.test_engine import FIRST, SECOND, render

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None, reason="needs vllm, which is not installed here"
)
READY_SECONDS = 600


@pytest.fixture
def server(vision: Callable[..., ServedModel]) -> ServedModel:
    return vision()


@pytest.fixture
def client(vision_folder: Path, server: ServedModel, tmp_path: Path) -> Iterator[Engine]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", str(vision_folder), "--port", str(port)]
    flags = ["--load-format", "dummy", "--dtype", "float32", "--enforce-eager", "--enable-scale-out"]
    names = ["--served-model-name", "vision", "--middleware", "renderlayer.references.ResolveReferences"]
    environment = {**os.environ, **server.settings.environment(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    log = tmp_path / "vllm.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, *flags, *names], env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        transport = httpx.HTTPTransport(retries=0)
        with httpx.Client(transport=transport, base_url=f"http://127.0.0.1:{port}") as probe_client:
            _wait_until_ready(process, probe_client, log)
        running = Engine(f"http://127.0.0.1:{port}")
        yield running
        wait(running.aclose())
    finally:
        process.terminate()
        process.wait(60)


def _wait_until_ready(process: subprocess.Popen[bytes], client: httpx.Client, log: Path) -> None:
    for _ in range(READY_SECONDS):
        try:
            if client.get("/health").is_success:
                return
        except httpx.TransportError:
            pass
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            continue
        break
    pytest.fail(f"vllm did not start:\n{log.read_text()[-3000:]}")


def test_the_same_answer_as_inline(server: ServedModel, client: Engine) -> None:
    inline = wait(client.generate(render(server, "tensors", FIRST, SECOND)))["choices"]
    assert wait(client.generate(render(server, "reference", FIRST, SECOND)))["choices"] == inline


def test_a_payload_that_is_gone(server: ServedModel, client: Engine) -> None:
    rendered = render(server, "reference", FIRST)
    address = Address.parse(rendered["features"]["kwargs_data"]["image"][0])
    rendered["features"]["kwargs_data"]["image"][0] = str(Address(address.bucket, address.prefix, "f", "gone"))
    with pytest.raises(EngineError) as caught:
        wait(client.generate(rendered))
    assert caught.value.status == 424
