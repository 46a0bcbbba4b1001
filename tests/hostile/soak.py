"""Mixed requests on `serve` by many clients, some of whom hang up: what memory, sockets and threads become of it.

    python -m tests.hostile.soak [REQUESTS] [CLIENTS]

Each kind of request is sent once before, and what the server then loads in the background (torch, a second after the
first image) is waited for. Prints one line at the first thousand and at every tenth of the requests. Fails on a 5xx,
and when the end is worse than the first thousand by more than a socket in eight, a thread, or a tenth of the memory.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.models import make_model_folder
from tests.multimodal.conftest import QWEN_FILES, QWEN_TOKENS
from tests.multimodal.images import encoded, picture

FIRST = 1000
HANGS_UP = 0.1
STILL, LONGEST_WAIT = 4, 60  # seconds
CHAT, DERENDER = "/v1/chat/completions/render", "/v1/chat/completions/derender"


@dataclass(frozen=True)
class Usage:
    """What a process has: bytes that are resident, files and sockets, threads."""

    memory: int
    files: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> Usage:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
        return cls(int(fields["VmRSS"].split()[0]) * 1024, files, int(fields["Threads"]))


def kinds() -> list[tuple[int, str, bytes]]:
    """(weight, path, body) of the requests."""

    def user(content: Any, **fields: Any) -> bytes:
        return json.dumps({"messages": [{"role": "user", "content": content}], **fields}).encode()

    def image(form: str, side: int, **fields: Any) -> bytes:
        url = f"data:image/{form.lower()};base64,{base64.b64encode(encoded(picture(side, side), form)).decode()}"
        return user([{"type": "image_url", "image_url": {"url": url}}], **fields)

    choice = {"index": 0, "token_ids": [300, 301, 302], "finish_reason": "stop"}
    answer = {"request_id": "r", "choices": [choice]}
    return [
        (40, CHAT, user("Hello there")),
        (10, CHAT, user("A longer text. " * 2000)),
        (10, DERENDER, json.dumps({"generate_response": answer, "prompt_tokens": 3}).encode()),
        (10, "/tokenize", json.dumps({"prompt": "Hello there"}).encode()),
        (8, CHAT, image("PNG", 128)),
        (4, CHAT, image("WEBP", 256, mm_payload="none")),
        (2, CHAT, image("TIFF", 64)),
        (6, CHAT, b'{"messages": ' + b"[" * 2000),
        (5, CHAT, user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])),
        (4, CHAT, user("x", chat_template="{{ messages[0].content }}")),
        (1, CHAT, user("x", chat_template="{{ ('a' * 100000) | join('b' * 100000) }}")),
    ]


class Soak:
    """The clients.

    Args:
        port, pid: of the server.
        requests, clients: how many.
    """

    def __init__(self, port: int, pid: int, requests: int, clients: int) -> None:
        self._port, self._pid, self._clients = port, pid, clients
        self._work = self._chosen(requests)
        self._reports = {FIRST, *(requests * tenth // 10 for tenth in range(1, 11))}
        self.done = 0
        self.statuses: Counter[str] = Counter()
        self.first: Usage | None = None

    def _chosen(self, requests: int) -> Iterator[tuple[str, bytes, bool]]:
        chance, made = random.Random(0), kinds()
        for _ in range(requests):
            _, path, body = chance.choices(made, [weight for weight, *_ in made])[0]
            yield path, body, chance.random() < HANGS_UP

    async def run(self) -> None:
        for _, path, body in kinds():
            await self._ask(path, body, hangs_up=False)
        await self._settled()
        await asyncio.gather(*(self._client() for _ in range(self._clients)))

    async def _settled(self) -> None:
        """Wait until the server's memory has stood still for as long as it waits before it loads anything more."""
        before, since = 0, 0
        for _ in range(LONGEST_WAIT):
            memory = Usage.of(self._pid).memory
            since = since + 1 if abs(memory - before) < 1 << 20 else 0
            before = memory
            if since == STILL:
                return
            await asyncio.sleep(1)

    async def _client(self) -> None:
        for path, body, hangs_up in self._work:
            try:
                status = await self._ask(path, body, hangs_up)
            except (OSError, EOFError, ValueError) as error:
                status = type(error).__name__
            self.statuses[status] += 1
            self.done += 1
            if self.done in self._reports:
                usage = Usage.of(self._pid)
                self.first = self.first or usage
                print(f"{self.done:>8} {usage.memory >> 20:>6} MB {usage.files:>4} files {usage.threads:>3} threads")

    async def _ask(self, path: str, body: bytes, hangs_up: bool) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            writer.write(
                f"{head}\r\nConnection: close\r\n\r\n".encode() + (body[: len(body) // 2] if hangs_up else body)
            )
            await writer.drain()
            if hangs_up:
                return "hung up"
            status = (await reader.readline()).split()[1].decode()
            while await reader.read(1 << 16):
                pass
            return status
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def main(requests: int = 50_000, clients: int = 200) -> None:
    """Serve, soak, tell."""
    with tempfile.TemporaryDirectory() as folder:
        model = make_model_folder(
            Path(folder) / "model",
            config={"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"]},
            special_tokens=("<|endoftext|>", *QWEN_TOKENS),
        )
        for name, content in QWEN_FILES.items():
            (model / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        command = [sys.executable, "-m", "infra.local", "serve", str(model), "--port", "0"]
        command += ["--trust-request-chat-template", "--template-seconds", "0.5"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                assert server.stdout is not None
                port = int(server.stdout.readline().rpartition(":")[2].split("/")[0].split()[0])
                soak = Soak(port, server.pid, requests, clients)
                asyncio.run(soak.run())
                report(soak, Usage.of(server.pid))
            finally:
                server.terminate()


def report(soak: Soak, last: Usage) -> None:
    """Print the statuses; exit with an error where something grew or failed."""
    print(dict(sorted(soak.statuses.items())))
    first = soak.first or last
    broken = [status for status in soak.statuses if status.startswith("5") and status != "503"]
    grown = last.memory > first.memory * 1.1 or last.files > first.files * 1.125 + 1 or last.threads > first.threads + 1
    if broken or grown:
        sys.exit(f"worse than before: {first} at the first thousand, {last}, {broken}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
