"""An HTTP proxy before S3 that counts requests and fails as told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_PIECE = 1 << 16


@dataclass(frozen=True)
class Fault:
    """How a request fails.

    Args:
        status, code: an S3 error; the request does not reach S3.
        stall: hold the answer back until the proxy ends (or `FaultyStore.go` is set).
        cut: close the connection after so many bytes of the answer's body.
        pause: stop reading the request's body after so many bytes, until `FaultyStore.go` is set.
    """

    status: int = 0
    code: str = "InternalError"
    stall: bool = False
    cut: int | None = None
    pause: int | None = None


class FaultyStore:
    """The proxy; a context manager.

    Attributes:
        url: where it listens.
        requests: (method, path) of what came, in order.
        fault: chooses the fault of a request by method and path.
        reached: set when a request stalls or pauses.
        go: lets stalled and paused requests go on.
    """

    def __init__(self, target: str) -> None:
        self.requests: list[tuple[str, str]] = []
        self.fault: Callable[[str, str], Fault | None] = lambda method, path: None
        self.reached = threading.Event()
        self.go = threading.Event()
        self.target = urlsplit(target)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FaultyStore:
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def fail(self, method: str, **fault: Any) -> None:
        """Let every request of a method fail."""
        self.fault = lambda asked, path: Fault(**fault) if asked == method else None

    def count(self, method: str) -> int:
        return sum(asked == method for asked, _ in self.requests)

    def hold(self) -> None:
        self.reached.set()
        self.go.wait(300)


class _Server(ThreadingHTTPServer):
    proxy: FaultyStore
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that break are what this proxy is for."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        proxy = self.server.proxy
        proxy.requests.append((self.command, self.path))
        fault = proxy.fault(self.command, self.path) or Fault()
        self.close_connection = True
        if fault.status:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self._refuse(fault)
            return
        upstream = HTTPConnection(str(proxy.target.hostname), proxy.target.port)
        try:
            if self._send_on(upstream, fault):
                if fault.stall:
                    proxy.hold()
                answer = upstream.getresponse()
                self._answer(answer.status, answer.headers, answer.read(), fault.cut)
        finally:
            upstream.close()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *arguments: Any) -> None:
        """Quiet."""

    def _send_on(self, upstream: HTTPConnection, fault: Fault) -> bool:
        """Pass the request on as it comes; False when its sender left in the middle."""
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("expect", "connection"):
                upstream.putheader(name, value)
        upstream.endheaders()
        left = int(self.headers.get("content-length") or 0)
        passed = 0
        while left:
            piece = self.rfile.read(min(left, _PIECE))
            if not piece:
                return False
            upstream.send(piece)
            left -= len(piece)
            passed += len(piece)
            if fault.pause is not None and passed >= fault.pause and left:
                self.server.proxy.hold()
        return True

    def _refuse(self, fault: Fault) -> None:
        body = b"" if self.command == "HEAD" else f"<Error><Code>{fault.code}</Code></Error>".encode()
        self.send_response_only(fault.status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, status: int, headers: HTTPMessage, body: bytes, cut: int | None) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body if cut is None else body[:cut])
