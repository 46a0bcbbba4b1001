"""The demo, from start to Ctrl-C, with an engine whose weights are random."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.models import make_model_folder
from tests.runtime import ROOT

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "eos_token_id": None,
}


@pytest.fixture
def weighted_model(tmp_path: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    folder = make_model_folder(tmp_path / "tiny", config=SMALL)
    config = transformers.AutoConfig.from_pretrained(folder)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def command(model: Path | str, *flags: str) -> list[str]:
    return [sys.executable, "-m", "infra.local", "run", str(model), *flags]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'layers/preprocessing'}{os.pathsep}{ROOT}"}


def test_the_demo_answers_and_a_signal_ends_all_of_it(weighted_model: Path, tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    flags = ["--port", str(ports[0]), "--engine-port", str(ports[1])]
    with subprocess.Popen(
        command(weighted_model, *flags),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        seen: list[str] = []
        for line in demo.stdout:
            seen.append(line)
            if "Ctrl-C" in line:
                break
        assert re.search(r"^render .* → \d+ token ids$", "".join(seen), re.M), "".join(seen)
        assert re.search(r"^derender  → ", "".join(seen), re.M)
        assert all(listens(port) for port in ports)
        chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
        answer = httpx.post(f"http://127.0.0.1:{ports[0]}/v1/chat/completions", json=chat, timeout=60)
        assert answer.json()["usage"]["completion_tokens"] == 4
        demo.send_signal(signal.SIGINT)
        rest = demo.stdout.read()
        assert demo.wait(60) == 0, rest
    assert not any(listens(port) for port in ports)
    assert "Traceback" not in rest


def test_a_port_that_is_taken_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = subprocess.run(
            command("unused", "--port", port),
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert f"port {port} is taken" in done.stderr
