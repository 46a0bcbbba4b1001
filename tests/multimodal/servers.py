"""Loopback HTTP servers that answer as media hosts do, well and badly."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


class MediaServer:
    """Answers paths by functions; counts the requests of each."""

    def __init__(self, replies: dict[str, Reply]) -> None:
        self.replies = replies
        self.seen: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append(self.path)
                outer.replies[self.path](self)

            def log_message(self, *arguments: Any) -> None:
                """Nothing: the tests read `seen`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def __enter__(self) -> MediaServer:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def serving(**replies: Reply) -> Iterator[MediaServer]:
    """A server whose paths are the names of the replies."""
    with MediaServer({f"/{name}": reply for name, reply in replies.items()}) as server:
        yield server


def content(data: bytes, status: int = 200, **headers: str) -> Reply:
    """Header names are written with underscores."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(data)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def redirect(target: str, status: int = 302) -> Reply:
    return content(b"", status, Location=target)


def unframed(data: bytes) -> Reply:
    """Without a length: the end of the connection ends the body."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def cut_short(data: bytes) -> Reply:
    """Promises more than it sends."""
    return content(data, Content_Length=str(len(data) + 100))


def stuck(release: threading.Event) -> Reply:
    """Sends a first byte and then nothing until released."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100")
        handler.end_headers()
        handler.wfile.write(b"x")
        handler.wfile.flush()
        release.wait(10)

    return reply


def after(failures: int, first: Reply, then: Reply) -> Reply:
    """`first` for so many requests, `then` from there on."""
    left = [failures]

    def reply(handler: BaseHTTPRequestHandler) -> None:
        left[0] -= 1
        (first if left[0] >= 0 else then)(handler)

    return reply
