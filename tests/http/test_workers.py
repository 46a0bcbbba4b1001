"""`renderlayer serve --workers N`, from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from renderlayer.http.server.workers import shared_out
from renderlayer.memory import available
from renderlayer.settings import Settings
from tests.local.test_serve import CHAT, COMMANDS, ROOT, running

PATH = "/v1/chat/completions/render"


def children(pid: int) -> set[int]:
    """The workers of a server; its resource tracker is none of them."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended meanwhile
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"spawn_main" in (process / "cmdline").read_bytes():
                found.add(int(process.name))
    return found


def metric(client: httpx2.Client, name: str) -> float:
    found = re.findall(rf"^{re.escape(name)} (\S+)$", client.get("/metrics").text, re.M)
    return float(found[0]) if found else 0.0


def until(condition: Callable[[], Any]) -> None:
    for _ in range(1200):
        if condition():
            return
        threading.Event().wait(0.05)
    pytest.fail("it did not come to that")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_several_workers_are_one_server(server: Any) -> None:
    flags = [server.settings.model, "--served-model-name", "small", "--workers", "2"]
    with running(COMMANDS[1], *flags) as started:
        assert sum("from 2 processes" in line for line in started.output) == 1
        with httpx2.Client(base_url=started.url, timeout=60, headers={"connection": "close"}) as client:
            for _ in range(20):
                assert client.post(PATH, json={**CHAT, "model": "small"}).status_code == 200
            answered = f'renderlayer_requests_total{{method="POST",path="{PATH}",status="200"}}'
            assert metric(client, answered) == 20
            assert metric(client, "renderlayer_workers") == 2
            assert "process_" not in client.get("/metrics").text
            before = children(started.process.pid)
            os.kill(min(before), signal.SIGKILL)
            until(lambda: len(children(started.process.pid) - before) == 1)
            until(lambda: metric(client, "renderlayer_workers") == 2)
            assert metric(client, answered) == 20
        workers = children(started.process.pid)
        assert started.stop(signal.SIGTERM) == 0
        assert len(workers) == 2
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    log = "".join(started.output)
    assert "Traceback" not in log
    assert f"worker {min(before)} died" in log
    assert log.count(f"POST {PATH} 200") == 20


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_workers_end_with_their_parent(server: Any) -> None:
    with running(COMMANDS[1], server.settings.model, "--workers", "2") as started:
        workers = children(started.process.pid)
        assert len(workers) == 2
        started.stop(signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_a_number_that_is_none_is_refused(number: str) -> None:
    done = subprocess.run(
        [*COMMANDS[1], "model", "--workers", number], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--workers" in done.stderr


def test_the_memory_for_media_is_shared_out() -> None:
    assert shared_out(Settings(media_memory_bytes=9), 4).media_memory_bytes == 2
    assert shared_out(Settings(), 4).media_memory_bytes == available() // 2 // 4
