"""The Lambda Runtime API, played for the real runtime client.

`awslambdaric` asks `GET /2018-06-01/runtime/invocation/next` for work and posts results or errors back. Here a thread
answers it, so that a test or a benchmark runs a function just as Lambda does: a process, a handler by name, events.
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "layers/preprocessing", ROOT)
PREFIX = "/2018-06-01/runtime/"
ARN = "arn:aws:lambda:eu-central-1:123456789012:function:bench"
TIMEOUT = 120
"""Seconds that a function may take to start and answer."""


@dataclass(frozen=True)
class Outcome:
    """What became of an invocation.

    Attributes:
        ok: whether the handler returned; False for an error of the handler or of its import.
        value: the handler's result, or the error's description.
        began: when the event was handed over (`time.perf_counter`).
        ended: when the outcome arrived; of an answer that was streamed, its beginning.
    """

    ok: bool
    value: Any
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Function:
    """A function's process with the runtime API before it; a context manager.

    Args:
        handler: as Lambda names it, e.g. `functions.render.app.handler`.
        environment: variables on top of this process's own.
        runtime: the module of the runtime client.
        hears: called with each part of an answer that is streamed, as it comes.
        seconds: the time that an invocation is told to have.
        python: the interpreter.
        paths: where it finds modules.
    """

    def __init__(
        self,
        handler: str,
        environment: Mapping[str, str] | None = None,
        runtime: str = "awslambdaric",
        hears: Callable[[bytes], object] = len,
        seconds: float = TIMEOUT,
        python: str | Path = sys.executable,
        paths: Sequence[Path] = SOURCES,
    ) -> None:
        self._events: queue.Queue[bytes | None] = queue.Queue()
        self._outcomes: queue.Queue[Outcome] = queue.Queue()
        self._server = _Server(self._events, self._outcomes, hears, seconds)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._command = [str(python), "-m", runtime, handler]
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "",  # a layer holds bytecode
            "_HANDLER": handler,
            "AWS_LAMBDA_FUNCTION_NAME": "bench",
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            **(environment or {}),
        }

    def __enter__(self) -> Function:
        self._thread.start()
        self._output = tempfile.TemporaryFile("w+")  # a pipe would need a reader, which would wake up for every line
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            self._command, env=self._environment, cwd=ROOT, stdout=self._output, stderr=subprocess.STDOUT
        )
        self._waiter = threading.Thread(target=self._wait)
        self._waiter.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._process.kill()
        self._process.wait()
        self._waiter.join()
        self._output.close()
        self._events.put(None)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def invoke(self, event: Any) -> Outcome:
        """Hand over one event and wait for what becomes of it."""
        return self.invoke_raw(json.dumps(event).encode())

    def invoke_raw(self, event: bytes) -> Outcome:
        """Hand over what need not be JSON."""
        self._events.put(event)
        try:
            return self._outcomes.get(timeout=TIMEOUT)
        except queue.Empty:
            raise TimeoutError(self.output()) from None

    def hang_up(self) -> None:
        """Close the connection on which the function waits for an event."""
        self._events.put(None)

    def end_of_runtime_api(self) -> int:
        """Close the Runtime API for good; the status with which the process ends."""
        self._server.shutdown()
        self._server.server_close()
        self.hang_up()
        return self._process.wait(TIMEOUT)

    def output(self) -> str:
        """What the process has printed so far."""
        return os.pread(self._output.fileno(), os.fstat(self._output.fileno()).st_size, 0).decode()

    def peak_megabytes(self) -> float:
        """The most memory that the process has held so far (Linux)."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def processor_seconds(self) -> float:
        """Processor time that the process has used so far, its threads together (Linux)."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _wait(self) -> None:
        self._process.wait()
        ended = {"errorType": "Runtime.ExitError", "errorMessage": self.output()}
        self._outcomes.put(Outcome(False, ended, 0.0, time.perf_counter()))


class _Server(ThreadingHTTPServer):
    """Connections end when the function's process does, in the middle of a request; that is no error."""

    daemon_threads = True

    def __init__(
        self,
        events: queue.Queue[bytes | None],
        outcomes: queue.Queue[Outcome],
        hears: Callable[[bytes], object],
        seconds: float,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events = events
        self.outcomes = outcomes
        self.hears = hears
        self.seconds = seconds
        self.began = 0.0

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Takes its times next to the socket: what this class itself needs is not the function's."""

    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def parse_request(self) -> bool:
        self.arrived = time.perf_counter()
        return super().parse_request()

    def do_GET(self) -> None:
        assert self.path == PREFIX + "invocation/next", self.path
        event = self.server.events.get()
        if event is None:
            self.close_connection = True
            return
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + self.server.seconds) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": ARN,
            "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0",
        }
        self._head(200, headers, event)
        self.server.began = time.perf_counter()
        self._send(event)

    def do_POST(self) -> None:
        streamed = self.headers["Transfer-Encoding"] == "chunked"
        value = self._unframed() if streamed else json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._head(202, {}, b"")
        self._send(b"")
        ok = self.path.endswith("/response") and "error" not in value
        self.server.outcomes.put(Outcome(ok, value, self.server.began, self.arrived))

    def _parts(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            part = self.rfile.read(size + 2)[:-2]
            self.server.hears(part)
            yield part

    def _unframed(self) -> dict[str, Any]:
        """A streamed answer in the form of others: a head, ended by eight zero bytes, then the body, then an error."""
        head, _, body = b"".join(self._parts()).partition(bytes(8))
        trailers = dict(line.decode().strip().split(": ", 1) for line in iter(self.rfile.readline, b"\r\n"))
        return {**json.loads(head), "body": body.decode(), **({"error": trailers} if trailers else {})}

    def _head(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, body: bytes) -> None:
        self.wfile.write(body)
        self.wfile.flush()
