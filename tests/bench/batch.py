"""`python -m tests.bench.batch`: what a batch costs beside its lines: memory of a split, processor time of a line."""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.request import urlopen

import orjson

from renderlayer.batch.steps.claims import Job, Shard, Split
from renderlayer.batch.steps.sharder import Limits, ShardRange
from renderlayer.batch.steps.split import Splitter, deadline
from renderlayer.batch.steps.work import Worker
from renderlayer.batch.storage import keys
from renderlayer.batch.storage.queue import Queue
from renderlayer.settings import Settings
from renderlayer.storage.bucket import Bucket, Source
from tests.runtime import ROOT

URL = "/v1/chat/completions/render"
LINES = 2000
TURNS = 15
FILE, NOTES = "/bench/batches/in/file.jsonl", "/bench/batches/work/"
CONTINUATION = "/split"
QUESTION = "What is the capital of France, and why is it? "


class Store(BaseHTTPRequestHandler):
    """As much of S3 and SQS as a split and a shard call: a file on disk, notes of the steps, the last continuation.

    Everything else is swallowed.
    """

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet, which waits for no acknowledgement
    disable_nagle_algorithm = True
    path_of_file = ""
    notes: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        if self.path == FILE:
            match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"])
            assert match is not None
            start, end = int(match[1]), int(match[2]) + 1
            with open(self.path_of_file, "rb") as file:
                file.seek(start)
                self._reply(206, file.read(end - start))
        elif self.path in self.notes:
            self._reply(200, self.notes[self.path])
        else:
            self._reply(404, b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>")

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith(NOTES):
            self.notes[self.path] = body
        self._reply(200, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["QueueUrl"].endswith(CONTINUATION):
            self.notes[CONTINUATION] = message["Entries"][0]["MessageBody"].encode()
        self._reply(200, b"{}")

    def handle_expect_100(self) -> bool:
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on

    def log_message(self, *arguments: Any) -> None:
        """Quiet."""

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def store(path: Path) -> Iterator[None]:
    """The store in a process of its own, found by the AWS_ variables."""
    command = [sys.executable, "-m", "tests.bench.batch", "--serve", str(path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout is not None
    url = child.stdout.readline().strip()
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "eu-central-1"}
    os.environ |= {"AWS_ENDPOINT_URL": url}
    try:
        yield
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def serve(path: str) -> None:
    Store.path_of_file = path
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def write(path: Path, size: int, count: int) -> None:
    """A file of about `size` bytes in `count` lines."""
    repeats = max(1, round((size / count - len(line(count, 0))) / len(QUESTION)))
    with path.open("wb") as file:
        for start in range(0, count, LINES):
            file.write(b"".join(line(number, repeats) for number in range(start, min(start + LINES, count))))


def line(number: int, repeats: int = 6) -> bytes:
    messages = [{"role": "user", "content": f"Question {number}: " + QUESTION * repeats}]
    row = {"custom_id": f"request-{number}", "method": "POST", "url": URL, "body": {"messages": messages}}
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def split(path: Path, size: int, count: int, seconds: float) -> None:
    """Time and peak memory of splitting, by a function that has so many seconds an invocation."""
    write(path, size, count)
    size = path.stat().st_size
    calls: list[float] = []
    used = time.process_time()
    with store(path):
        url = os.environ["AWS_ENDPOINT_URL"]
        splitter = Splitter(
            Bucket("bench"), Queue(url + CONTINUATION), Queue(url + "/work"), Limits(4 << 20, LINES), 24
        )
        job = Job("batch_bench", Source(keys.INBOX + "file.jsonl", '"e"'), 1 << 40)
        message = Split(job, size, splitter.limits).message()
        while True:
            began = time.monotonic()
            invocation = SimpleNamespace(get_remaining_time_in_millis=lambda: seconds * 1e3)
            (told,) = splitter.receive(message, deadline(invocation))
            calls.append(time.monotonic() - began)
            if told["outcome"] != "handed_on":
                break
            message = json.loads(urlopen(url + CONTINUATION).read())
    used = time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert told["requests"] == count
    print(
        f"split of {size / 2**20:.0f} MB, {count} lines, {told['shards']} shards: {sum(calls):.1f} s "
        f"({used:.1f} s of processor) in {len(calls)} invocations, the longest {max(calls):.1f} s; "
        f"process peak {peak:.0f} MB",
        flush=True,
    )


def work(path: Path, model: str) -> None:
    """A shard of renders beside a loop from file to file that calls the library: the least of many turns."""
    # not above: what is measured of a split is what a function that splits holds
    from renderlayer.http.batch_endpoints import endpoints
    from renderlayer.render.chat import render_chat
    from renderlayer.served_model import ServedModel
    from renderlayer.wire.chat import ChatCompletionRequest
    from renderlayer.wire.common.base import parse

    path.write_bytes(b"".join(line(number) for number in range(LINES)))
    server = ServedModel.open(Settings(model=model))
    with store(path):
        queue = Queue(os.environ["AWS_ENDPOINT_URL"] + "/queue")
        worker = Worker(Bucket("bench"), queue, endpoints(server, None), 32)
        job = Job("batch_bench", Source(keys.INBOX + "file.jsonl", '"e"'), 1 << 40)
        shard = Shard(job, 0, ShardRange(0, path.stat().st_size, 1, LINES))

        def loop() -> None:
            with path.open("rb") as rows, path.with_suffix(".out").open("wb") as results:
                for row in rows:
                    rendered = render_chat(parse(ChatCompletionRequest, orjson.loads(row)["body"]), server)
                    results.write(orjson.dumps(rendered, option=orjson.OPT_APPEND_NEWLINE))

        def work() -> None:
            assert worker.receive(shard.message(), lambda: 900.0)["completed"] == LINES

        turns = [(timed(loop), timed(work)) for _ in range(TURNS)]
    for at, clock in enumerate(("processor time", "time")):
        alone, whole = (min(turn[who][at] for turn in turns) / LINES * 1e6 for who in (0, 1))
        print(
            f"{clock} of rendering a line: {alone:.0f} us in a loop, {whole:.0f} us in a shard "
            f"({100 * (whole - alone) / alone:+.0f} %, {whole - alone:+.0f} us)"
        )


def timed(call: Callable[[], None]) -> tuple[float, float]:
    """Seconds of this process's processor time, and of the clock."""
    used, began = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - used, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.batch", description=__doc__)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--model", help="model folder or bundle (default: that of the other benchmarks)")
    parser.add_argument("--gigabytes", type=float, default=1, help="size of the file that is split")
    parser.add_argument("--lines", type=int, help="lines of that file (default: of about 400 bytes)")
    parser.add_argument("--seconds", type=float, default=900, help="an invocation's time, after which it hands on")
    parser.add_argument("--split", action="store_true", help="measure the splitting only")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "file.jsonl"
        size = int(arguments.gigabytes * 2**30)
        split(path, size, arguments.lines or size // len(line(0)), arguments.seconds)
        if arguments.split:
            return
        from tests.bench.__main__ import default_model

        work(path, arguments.model or str(default_model()))


if __name__ == "__main__":
    main()
