"""`python -m infra.local serve` and `renderlayer serve` as a person starts them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.local.__main__ import main
from tests.models import make_model_folder
from tests.runtime import ROOT

COMMANDS = ([sys.executable, "-m", "infra.local", "serve"], [sys.executable, "-m", "renderlayer.cli", "serve"])
CHAT = {"messages": [{"role": "user", "content": "Say hello, please."}]}


class Running:
    """A server's process, its URL and what it printed."""

    def __init__(self, command: list[str], **environment: str) -> None:
        path = f"{ROOT / 'layers/preprocessing'}{os.pathsep}{ROOT}"
        self.process = subprocess.Popen(
            [*command, "--port", "0"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        self.output: list[str] = []
        for line in self.process.stdout:
            self.output.append(line)
            ready = re.search(r"on (https?://\S+)$", line)
            if ready:
                break
        else:
            self.process.wait(120)
            self.process.stdout.close()
            pytest.fail("".join(self.output))
        self.url = ready.group(1)
        self._reader = threading.Thread(target=self.output.extend, args=(self.process.stdout,))
        self._reader.start()

    def stop(self, number: int) -> int:
        """Send a signal; the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(120)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@contextmanager
def running(command: list[str], *flags: str, **environment: str) -> Iterator[Running]:
    server = Running([*command, *flags], **environment)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)


@pytest.mark.parametrize(
    ("command", "number"), [(COMMANDS[0], signal.SIGTERM), (COMMANDS[1], signal.SIGINT)], ids=["gateway", "server"]
)
def test_serving(command: list[str], number: int, server: Any) -> None:
    flags = [server.settings.model, "--served-model-name", "small", "alias", "--max-body-bytes", "2000000"]
    with running(command, *flags) as started, httpx.Client(base_url=started.url, timeout=60) as client:
        assert "serving" in started.output[-1]
        assert client.get("/health").status_code == 200
        assert [card["id"] for card in client.get("/v1/models").json()["data"]] == ["small", "alias"]

        def ask(name: str) -> Any:
            return client.post("/v1/chat/completions/render", json={**CHAT, "model": name})

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, ["small", "alias"] * 8))
        assert {answer.status_code for answer in answers} == {200}
        assert len({tuple(answer.json()["token_ids"]) for answer in answers}) == 1
        assert ask("other").status_code == 404
        oversized = client.post("/tokenize", content=bytes(3_000_000), headers={"content-type": "application/json"})
        assert oversized.status_code == 413
        assert started.stop(number) == 0  # with the client's connection still open
        with pytest.raises(httpx.ConnectError):
            client.get("/health")
    assert "Traceback" not in "".join(started.output)


def test_a_server_does_not_wait_for_the_body_of_a_caller_without_a_key(server: Any) -> None:
    with running([*COMMANDS[1], server.settings.model], RENDERLAYER_API_KEY="secret") as started:
        address = httpx.URL(started.url)
        head = b"POST /v1/chat/completions/render HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n"
        with socket.create_connection((address.host, address.port or 80), timeout=120) as connection:
            connection.sendall(head + b"Content-Type: application/json\r\n\r\n{")
            assert connection.recv(12) == b"HTTP/1.1 401"
        keyed = {"Authorization": "Bearer secret"}
        assert (
            httpx.post(f"{started.url}/v1/chat/completions/render", json=CHAT, headers=keyed, timeout=60).status_code
            == 200
        )


@pytest.mark.parametrize("command", COMMANDS, ids=["gateway", "server"])
def test_media_that_are_not_rendered_are_told_at_the_start(command: list[str], tmp_path: Path) -> None:
    config = {"architectures": ["OpenPanguVLForConditionalGeneration"], "model_type": "openpangu_vl"}
    folder = make_model_folder(tmp_path / "media", config=config)
    with running(command, str(folder)) as started:
        told = [line for line in started.output if line.startswith("warning: ")]
        assert "warning: image is refused: media of OpenPanguVLForConditionalGeneration are not rendered here\n" in told
        assert len(told) == 2
        assert started.stop(signal.SIGTERM) == 0


def test_flags_replace_what_the_environment_says(server: Any) -> None:
    flags = [server.settings.model, "--max-logprobs", "20"]
    environment = {"RENDERLAYER_SERVED_MODEL_NAME": "from-environment", "RENDERLAYER_MAX_LOGPROBS": "nonsense"}
    done = subprocess.run(
        [*COMMANDS[0], *flags], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "RENDERLAYER_MAX_LOGPROBS" in done.stderr
    environment["RENDERLAYER_MAX_LOGPROBS"] = "3"
    with running(COMMANDS[0], *flags, **environment) as started:
        models = httpx.get(started.url + "/v1/models", timeout=60).json()
        assert [card["id"] for card in models["data"]] == ["from-environment"]


@pytest.mark.parametrize("command", COMMANDS, ids=["gateway", "server"])
def test_a_model_that_is_not_there(command: list[str]) -> None:
    done = subprocess.run([*command, "/nowhere/model"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "/nowhere/model" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["serve", "model"], ["run"]], ids=" ".join)
@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_there_is_not_is_refused_by_name(
    arguments: list[str], port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*arguments, "--port", port])
    assert port in capsys.readouterr().err


def test_batches_on_a_laptop(server: Any) -> None:
    pytest.importorskip("moto")
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions/render", "body": CHAT}
    flags = [server.settings.model, "--served-model-name", "small", "--batches"]
    with running(COMMANDS[0], *flags) as started, httpx.Client(base_url=f"{started.url}/v1", timeout=60) as client:
        sent = {"file": ("lines.jsonl", json.dumps(line))}
        file = client.post("/files", data={"purpose": "batch"}, files=sent).json()
        asked = {"input_file_id": file["id"], "endpoint": line["url"], "completion_window": "24h"}
        batch = client.post("/batches", json=asked).json()
        for _ in range(600):
            if batch["status"] in ("completed", "failed"):
                break
            threading.Event().wait(0.2)
            batch = client.get(f"/batches/{batch['id']}").json()
        assert (batch["status"], batch["request_counts"]["completed"]) == ("completed", 1)
        (result,) = client.get(f"/files/{batch['output_file_id']}/content").text.splitlines()
    assert json.loads(result)["response"]["body"]["token_ids"]
