"""The demo, from start to Ctrl-C, with an engine whose weights are random."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from infra.local.run import own_log, wait_for_the_end
from renderlayer.errors import ConfigurationError
from tests.models import make_model_folder
from tests.ports import free_port
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


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def command(model: Path | str, *flags: str) -> list[str]:
    return [sys.executable, "-m", "infra.local", "run", str(model), *flags]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'layers/preprocessing'}{os.pathsep}{ROOT}"}


@contextmanager
def demonstration(model: Path, ports: list[int], folder: Path) -> Iterator[subprocess.Popen[str]]:
    flags = ["--port", str(ports[0]), "--engine-port", str(ports[1])]
    with subprocess.Popen(
        command(model, *flags),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        try:
            yield demo
        finally:
            demo.kill()


def read_until(word: str, demo: subprocess.Popen[str]) -> str:
    assert demo.stdout is not None
    seen: list[str] = []
    for line in demo.stdout:
        seen.append(line)
        if word in line:
            break
    return "".join(seen)


@pytest.mark.long
def test_the_demo_answers_and_a_signal_ends_all_of_it(weighted_model: Path, tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    with demonstration(weighted_model, ports, tmp_path) as demo:
        seen = read_until("Ctrl-C", demo)
        assert re.search(r"^render .* → \d+ token ids$", seen, re.M), seen
        assert re.search(r"^derender  → ", seen, re.M)
        assert all(listens(port) for port in ports)
        chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
        answer = httpx.post(f"http://127.0.0.1:{ports[0]}/v1/chat/completions", json=chat, timeout=60)
        assert answer.json()["usage"]["completion_tokens"] == 4
        demo.send_signal(signal.SIGINT)
        assert demo.stdout is not None
        rest = demo.stdout.read()
        assert demo.wait(60) == 0, rest
    assert not any(listens(port) for port in ports)
    assert "Traceback" not in rest


def test_media_that_are_not_rendered_are_told(tmp_path: Path) -> None:
    config = {"architectures": ["OpenPanguVLForConditionalGeneration"], "model_type": "openpangu_vl"}
    folder = make_model_folder(tmp_path / "media", config=config)
    (folder / "model.safetensors").touch()
    with demonstration(folder, [free_port(), free_port()], tmp_path) as demo:
        seen = read_until("starting the gateway", demo)
        assert "warning: image is refused: media of OpenPanguVLForConditionalGeneration are not rendered here" in seen
        demo.send_signal(signal.SIGINT)
        demo.wait(60)


@pytest.mark.long
@pytest.mark.parametrize("closed", [False, True], ids=["killed", "nobody reads any more"])
def test_engine_and_gateway_end_with_the_demo(weighted_model: Path, tmp_path: Path, closed: bool) -> None:
    ports = [free_port(), free_port()]
    with demonstration(weighted_model, ports, tmp_path) as demo:
        read_until("Ctrl-C", demo)
        assert all(listens(port) for port in ports)
        assert demo.stdout is not None
        if closed:
            demo.stdout.close()
            assert demo.wait(60) == 0
        else:
            demo.kill()
            demo.wait()
        for _ in range(600):
            if not any(listens(port) for port in ports):
                break
            threading.Event().wait(0.1)
    assert not any(listens(port) for port in ports)


def test_a_server_that_ends_is_told() -> None:
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    ended.wait()
    with pytest.raises(ConfigurationError, match=r"the engine has ended \(3\).*engine-8081\.log"):
        wait_for_the_end({"engine-8081": ended})


def test_a_process_ends_with_its_input() -> None:
    """How children end with their parent where the kernel does not see to it."""
    code = "from infra.local.bound import end_with_input; end_with_input(); import time; time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], env=environment(), stdin=subprocess.PIPE)
    assert child.poll() is None
    child.communicate()
    assert child.returncode == -signal.SIGTERM


def test_logs_belong_to_one_run(tmp_path: Path) -> None:
    log = tmp_path / "engine-8081.log"
    log.write_text("of an earlier run")
    with own_log(log) as output:
        output.write(b"mine")
        output.flush()
        with pytest.raises(ConfigurationError, match=r"another run writes into .*engine-8081\.log; choose"):
            own_log(log)
        assert log.read_text() == "mine"


def test_a_folder_without_weights_is_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = make_model_folder(tmp_path / "bare", config=SMALL)
    engine = [sys.executable, "-m", "infra.generate", "serve", str(folder)]
    for line, status in ((command(folder), 2), (engine, 1)):
        done = subprocess.run(line, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert done.stderr.startswith(f"error: {folder} holds no weights")
        assert done.stderr.count("\n") == 1


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
