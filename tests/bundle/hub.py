"""A Hub on loopback: serves the files of a folder as one model, and remembers what was asked for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def files(folder: Path) -> list[dict[str, object]]:
    """The files of the model, as the Hub lists a tree."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        {"type": "file", "path": path.relative_to(folder).as_posix(), "size": path.stat().st_size, "oid": "0" * 40}
        for path in paths
    ]


class Hub:
    """Address of the server, and the paths that it was asked for."""

    def __init__(self, url: str, paths: list[str]) -> None:
        self.url = url
        self.paths = paths


@contextmanager
def serve(folder: Path, model: str) -> Iterator[Hub]:
    """Serve `folder` as `model`, every revision of it being the same commit."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            paths.append(f"{self.command} {self.path}")

        def _answer(self, body: bool) -> None:
            if self.path.startswith(f"/api/models/{model}"):
                described = files(folder) if "/tree/" in self.path else {"id": model, "sha": COMMIT}
                self._send(json.dumps(described).encode(), body)
                return
            prefix = f"/{model}/resolve/{COMMIT}/"
            path = folder / self.path.removeprefix(prefix)
            if self.path.startswith(prefix) and path.is_file():
                self._send(path.read_bytes(), body)
            else:
                self.send_error(404)

        def _send(self, content: bytes, body: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_port}", paths)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
