"""ASGI applications on real sockets, in threads of the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answers = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.answers.set()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The application's URL while it is served by uvicorn on loopback."""
    server = _Server(uvicorn.Config(app, port=0, lifespan="off", ws="none", log_level="error", timeout_keep_alive=120))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.answers.wait(60)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
