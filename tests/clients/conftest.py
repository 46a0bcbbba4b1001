"""`make run`'s gateway, engine and model, for clients that live in an environment of their own.

RENDERLAYER_URL names a running gateway; without it one is started with the project's own Python.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/bin/python"
MODEL = "SmolLM2-135M-Instruct"
KEY = "unused"


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the gateway answers, without `/v1`."""
    given = os.environ.get("RENDERLAYER_URL")
    if given:
        yield given
        return
    gateway, engine = free_port(), free_port()
    command = [PYTHON, "-m", "infra.local", "run", "--port", str(gateway), "--engine-port", str(engine), "--batches"]
    log = tmp_path_factory.mktemp("gateway") / "log.txt"
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=output, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        else:
            pytest.fail(log.read_text())
        yield f"http://127.0.0.1:{gateway}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()


@pytest.fixture(scope="session")
def base_url(url: str) -> str:
    """What OpenAI's clients are given."""
    return f"{url}/v1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
