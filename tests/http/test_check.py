"""The way to the engine, looked at from inside: how far it goes, and what stands in the way."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from renderlayer.http.server.check import check_engine

KEY = "engine-key"


@contextmanager
def engine(health: int = 200) -> Iterator[str]:
    """An engine that asks for a key; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers["Authorization"] == f"Bearer {KEY}"
            self.send_response(health if self.path == "/health" else 200 if known else 401)
            self.end_headers()

        def log_message(self, *details: object) -> None:
            """Nothing to say."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> Any:
    def check(url: str, key: str = KEY) -> tuple[bool, str]:
        monkeypatch.setenv("RENDERLAYER_ENGINE_URL", url)
        monkeypatch.setenv("RENDERLAYER_ENGINE_API_KEY", key)
        told = check_engine()
        assert told["detail"]
        assert KEY not in str(told)
        return told["ok"], told["step"]

    return check


def test_an_engine_that_answers(checked: Any) -> None:
    with engine() as url:
        assert checked(url) == (True, "done")
        assert checked(f"{url}/") == (True, "done")


def test_where_the_way_ends(checked: Any) -> None:
    assert checked("") == (False, "configuration")
    assert checked("http://no-such-host.invalid:8000") == (False, "name")
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        assert checked(f"http://127.0.0.1:{taken.getsockname()[1]}") == (False, "connection")
    with engine(health=503) as url:
        assert checked(url) == (False, "health")
    with engine() as url:
        assert checked(url, "wrong") == (False, "key")
        assert checked(url.replace("http:", "https:")) == (False, "http")
