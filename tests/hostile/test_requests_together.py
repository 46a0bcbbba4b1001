"""Many large bodies at the same time: together they take what one setting says, and small requests are answered."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from renderlayer.served_model import ServedModel
from tests.hostile.shapes import ANSWERS, CHATS, Shape
from tests.local.test_serve import COMMANDS, running

pytestmark = pytest.mark.long
MEMORY = 200 << 20
BESIDE = 100 << 20
"""Bytes of threads and of what they import."""
SIZE, CLIENTS, ROUNDS = 1 << 20, 24, 3
COSTLY = ["empty objects", "turns", "tools", "documents", "biases", "a text of one letter", "an astral letter"]
ATTACKS: list[tuple[str, Shape]] = [
    *(("/v1/chat/completions/render", CHATS[name]) for name in COSTLY),
    ("/v1/chat/completions/derender", ANSWERS["answer: choices"]),
    ("/v1/chat/completions/derender", ANSWERS["answer: tools"]),
]
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


def resident(pid: int, line: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.split(f"{line}:")[1].split()[0]) << 10


def test_bodies_of_many_requests_share_the_memory(server: ServedModel) -> None:
    flags = [server.settings.model, "--served-model-name", "small", "--body-memory-bytes", str(MEMORY)]
    with running(COMMANDS[1], *flags) as started:
        pid = started.process.pid

        def attack(at: int) -> int:
            path, shape = ATTACKS[at % len(ATTACKS)]
            headers = {"content-type": "application/json"}
            return httpx.post(started.url + path, content=shape(SIZE), headers=headers, timeout=300).status_code

        def hello(at: int) -> int:
            return httpx.post(f"{started.url}/v1/chat/completions/render", json=HELLO, timeout=300).status_code

        assert {hello(at) for at in range(20)} == {200}
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
        before = resident(pid, "VmRSS")
        with ThreadPoolExecutor(CLIENTS) as pool:
            attacks = pool.map(attack, range(ROUNDS * CLIENTS))
            quick = list(map(hello, range(20)))
            statuses = set(attacks)
        assert set(quick) == {200}
        assert statuses <= {200, 400, 413, 503} and statuses & {200, 400}
        assert resident(pid, "VmHWM") - before < 1.2 * MEMORY + BESIDE
