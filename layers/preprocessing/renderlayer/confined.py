"""Work on input that nobody vouches for, in processes of their own that the kernel stops at a limit.

Templates of requests and decoders of rare image formats run so: whatever they do, the time of the processor and the
memory that they take are bounded, and a crash ends nothing else. A worker has no environment of the parent's: no keys.
It is started by the first call, in about a tenth of a second, and kept. Memory is limited where the system enforces
RLIMIT_AS (Linux); the time everywhere.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet, finalize

from renderlayer.errors import Unavailable

_HEAD = struct.Struct(">IQ")  # bytes of the JSON or pickle, bytes of the data behind it
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "TZ")
_START = "import sys; sys.path[:] = sys.argv[5:]; from renderlayer.confined_worker import main; main(*sys.argv[1:5])"
_WAITS = 20.0
"""Seconds that a call waits for a worker when all are at work."""
_PATIENCE, _GRACE = 10, 10.0
"""A worker that uses no processor is given up after so many times its seconds, and these beside."""


class OutOfTime(Exception):
    """The work took more processor time than it may."""


class OutOfMemory(Exception):
    """The work needed more memory than it may have, or crashed."""


class Confined:
    """A function that is run in worker processes.

    Args:
        function: "module:name", called there with (request, data) and giving (answer, data); the answer is JSON.
        seconds: processor time of one call.
        memory: bytes that a worker may have beside what it starts with.
        workers: most at a time; further calls wait.
        most: bytes of an answer and its data.
    """

    def __init__(self, function: str, seconds: float, memory: int, workers: int | None = None, most: int = 1 << 30):
        self._arguments = (function, str(seconds), str(memory), str(most))
        self._patience = seconds * _PATIENCE + _GRACE
        self._most = most
        self._free = threading.BoundedSemaphore(workers or os.cpu_count() or 1)
        self._idle: list[_Worker] = []
        MADE.add(self)
        finalize(self, _close, self._idle)

    def __call__(self, request: Any, data: bytes | memoryview = b"") -> tuple[Mapping[str, Any], bytes]:
        """Run the function in a worker.

        Args:
            request: anything that can be pickled; what cannot, raises what pickle raises.

        Raises:
            OutOfTime, OutOfMemory: it went over a limit.
            Unavailable: every worker was busy for too long.
        """
        pickled = pickle.dumps(request)
        if not self._free.acquire(timeout=_WAITS):
            raise Unavailable("Too many requests of this kind are under way. Try again.")
        try:
            worker = self._taken()
            try:
                answer, out = worker.ask(pickled, data, self._patience, self._most)
            except BaseException:
                worker.kill()
                raise
            if answer.pop("last", False):
                worker.close()
            else:
                self._idle.append(worker)
            return answer, out
        finally:
            self._free.release()

    def close(self) -> None:
        """End the idle workers."""
        _close(self._idle)

    def _taken(self) -> _Worker:
        with suppress(IndexError):
            return self._idle.pop()
        return _Worker(self._arguments)


MADE: WeakSet[Confined] = WeakSet()


def close_all() -> None:
    """End the idle workers of all functions."""
    for made in MADE:
        made.close()


def _close(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().close()


class _Worker:
    def __init__(self, arguments: tuple[str, ...]) -> None:
        own = str(Path(__file__).resolve().parents[1])
        paths = list(dict.fromkeys((own, *(os.path.abspath(path) for path in sys.path if path))))
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _START, *arguments, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"MALLOC_ARENA_MAX": "1", **kept},
            bufsize=0,
            start_new_session=True,  # Ctrl-C is the parent's affair
        )

    def ask(self, request: bytes, data: bytes | memoryview, patience: float, most: int) -> tuple[dict[str, Any], bytes]:
        """One call; raises what became of the worker when it gives no answer."""
        deadline = time.monotonic() + patience
        try:
            self._write(_HEAD.pack(len(request), len(data)), request, data)
            size, behind = _HEAD.unpack(self._read(_HEAD.size, deadline))
            if size + behind > most:
                raise OutOfMemory
            answer: dict[str, Any] = json.loads(self._read(size, deadline))
            return answer, self._read(behind, deadline)
        except (BrokenPipeError, EOFError):
            raise self._fate() from None

    def _write(self, *parts: bytes | memoryview) -> None:
        assert self._process.stdin is not None
        for part in parts:
            left = memoryview(part)
            while left:
                left = left[os.write(self._process.stdin.fileno(), left) :]

    def _read(self, size: int, deadline: float) -> bytes:
        assert self._process.stdout is not None
        source, out = self._process.stdout.fileno(), bytearray()
        poll = select.poll()
        poll.register(source, select.POLLIN)
        while len(out) < size:
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise OutOfTime
            piece = os.read(source, min(size - len(out), 1 << 20))
            if not piece:
                raise EOFError
            out += piece
        return bytes(out)

    def _fate(self) -> Exception:
        code = self._process.wait()
        return OutOfTime() if -code in (signal.SIGPROF, signal.SIGXCPU) else OutOfMemory()

    def kill(self) -> None:
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End it as the parent's death would: by closing what it reads from."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()
