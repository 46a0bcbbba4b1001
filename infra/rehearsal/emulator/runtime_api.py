"""The Runtime API towards a function that brings its own runtime (AWS_LAMBDA_EXEC_WRAPPER), and towards the emulator
the lines of JSON that its Python worker speaks: {"part": base64} for each part of a streamed answer, then a status.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import base64
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INVOCATION = "/2018-06-01/runtime/invocation"

events: queue.Queue[dict[str, Any]] = queue.Queue()
ready = threading.Event()


def tell(**told: Any) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


class RuntimeApi(BaseHTTPRequestHandler):
    """GET next, POST response and error; an answer may come in chunks, closed by trailers where it failed."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: Any) -> None:
        """Nothing: the function's log is on the same stream."""

    def do_GET(self) -> None:
        if not ready.is_set():
            ready.set()
            tell(status="ready", cold=True)
        told = events.get()
        context = told["ctx"]
        headers = {
            "Lambda-Runtime-Aws-Request-Id": context["request_id"],
            "Lambda-Runtime-Invoked-Function-Arn": context["invoked_function_arn"],
            "Lambda-Runtime-Deadline-Ms": str(int(time.time() * 1000) + context["timeout_ms"]),
            "Lambda-Runtime-Trace-Id": context.get("trace_id") or "",
        }
        self._answer(200, json.dumps(told["event"]).encode(), headers)

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            for part in self._parts():
                tell(part=base64.b64encode(part).decode())
            failed, said = self._trailers(), "the answer broke off"
        else:
            said = self.rfile.read(int(self.headers["Content-Length"])).decode()
            failed = not (self.path.startswith(INVOCATION) and self.path.endswith("/response"))
        self._answer(202, b"{}", {})
        tell(**({"status": "error", "error": said} if failed else {"status": "ok", "result": said}))

    def _parts(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()

    def _trailers(self) -> bool:
        """Whether there are any, which tell of a failure."""
        return bool(list(iter(self.rfile.readline, b"\r\n")))

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    init = json.loads(sys.stdin.readline())
    server = ThreadingHTTPServer(("127.0.0.1", 0), RuntimeApi)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["AWS_LAMBDA_RUNTIME_API"] = f"127.0.0.1:{server.server_port}"
    os.environ["_HANDLER"] = f"{init['module']}.{init['handler']}"
    command = [os.environ["AWS_LAMBDA_EXEC_WRAPPER"], sys.executable, "/var/runtime/bootstrap.py"]
    runtime = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)

    def watch() -> None:
        tell(status="error", error=f"Runtime exited with status {runtime.wait()}")
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    for line in sys.stdin:
        events.put(json.loads(line))
    runtime.kill()


if __name__ == "__main__":
    main()
