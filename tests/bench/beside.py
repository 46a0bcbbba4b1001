"""`python -m tests.bench.beside DIR`: a 1080p photo over HTTP, of our server and of the reference's in DIR, in turns.

1. The first image after a start, and whether torch was loaded for it.
2. A new photo with tensors and without ("none"), and a known photo by reference, each beside the reference's server,
   which has no references: there, beside a new photo with tensors.
3. Memory of a request, in sizes of its answer.

DIR is an installation of the reference, as of `tests.reference`. Ratios of pairs stand a busy machine; times do not.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.bench.references import BUCKET, S3, child
from tests.multimodal.images import data_url, encoded, picture
from tests.reference.servers import free_port, reference

MODEL = "tiny-qwen3-vl"
PATH = "/v1/chat/completions/render"
ROUNDS = 9
QUALITY = 20
"""As of `tests.bench.photos`."""
READY = 300
SERVE = "from renderlayer.cli import main; main()"


class Timed:
    """A server that photos are sent to."""

    def __init__(self, url: str, model: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=120)
        self._model = model
        self.size = 0
        """Bytes of the last answer."""

    def ask(self, url: str, payload: str) -> float:
        """Seconds from a photo to the last byte of the answer."""
        parts = [{"type": "image_url", "image_url": {"url": url}}]
        messages = [{"role": "user", "content": parts}]
        body = json.dumps({"model": self._model, "messages": messages, "mm_payload": payload}).encode()
        began = time.perf_counter()
        answer = self._client.post(PATH, content=body, headers={"content-type": "application/json"})
        taken = time.perf_counter() - began
        answer.raise_for_status()
        self.size = len(answer.content)
        return taken


class Process:
    """A server process, by what the kernel tells of its memory."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")

    def peak_of(self, work: Any) -> int:
        """Bytes that the process held more at most while it did the work."""
        (self._folder / "clear_refs").write_text("5")  # the peak begins anew
        before = self._bytes("VmRSS")
        work()
        return self._bytes("VmHWM") - before

    def has_loaded(self, name: str) -> bool:
        """Whether a library whose file's name holds `name` is mapped."""
        return name in (self._folder / "maps").read_text()

    def _bytes(self, name: str) -> int:
        lines = (self._folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def main(where: Path) -> None:
    with child([sys.executable, "-c", S3]) as port:
        os.environ |= {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
        }
        import boto3

        boto3.client("s3").create_bucket(Bucket=BUCKET)
        with ours(where / "models" / MODEL) as (url, process):
            server = Timed(url, MODEL)
            first = server.ask(photo(0), "tensors")
            print(f"first image after a start    {first * 1e3:7.0f} ms   torch: {process.has_loaded('libtorch_cpu')}")
            with reference(where, MODEL, ()) as other:
                compare(server, Timed(other, MODEL))
            memory(server, process)


def photo(seed: int) -> str:
    """A picture that is noisy: at this quality it has about the bytes of a real photo of that size."""
    return data_url(encoded(picture(1920, 1080, seed=seed), "JPEG", quality=QUALITY), "image/jpeg")


def compare(server: Timed, other: Timed) -> None:
    """Print the median of times and of the ratios of pairs, each of a new photo to both."""
    known = photo(1)
    for _ in range(2):
        server.ask(known, "reference")
    time.sleep(3)  # what is loaded in the background is there
    for seed in (2, 3):
        server.ask(photo(seed), "tensors")
        other.ask(photo(seed), "tensors")
    rows: dict[str, list[tuple[float, float]]] = {"tensors": [], "none": [], "reference, known": []}
    for seed in range(10, 10 + ROUNDS):
        fresh, bare = photo(seed), photo(seed + 1000)
        theirs = other.ask(fresh, "tensors")
        rows["tensors"].append((server.ask(fresh, "tensors"), theirs))
        rows["none"].append((server.ask(bare, "none"), other.ask(bare, "none")))
        rows["reference, known"].append((server.ask(known, "reference"), theirs))
    for name, pairs in rows.items():
        ours, theirs = (statistics.median(each) * 1e3 for each in zip(*pairs, strict=True))
        ratio = statistics.median(mine / its for mine, its in pairs)
        print(f"photo, {name:20}  {ours:7.1f} ms   reference's server {theirs:7.1f} ms   {ratio:.2f} x")


def memory(server: Timed, process: Process) -> None:
    """Print what a request with tensors takes, in sizes of its answer; the photos are new to the server."""
    held = []
    for seed in range(40, 40 + ROUNDS):
        url = photo(seed)
        held.append(process.peak_of(lambda url=url: server.ask(url, "tensors")) / server.size)
    print(f"memory of a request          {statistics.median(held):7.2f} x its answer of {server.size >> 20} MB")


@contextmanager
def ours(folder: Path) -> Iterator[tuple[str, Process]]:
    """Our server, started anew, by its address and its process."""
    port = free_port()
    address = ["--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port), "--reference-bucket", BUCKET]
    command = [sys.executable, "-c", SERVE, "serve", str(folder), *address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            url, end = f"http://127.0.0.1:{port}", time.monotonic() + READY
            while time.monotonic() < end:
                try:
                    httpx.get(f"{url}/health", timeout=5).raise_for_status()
                    break
                except httpx.HTTPError:
                    time.sleep(0.1)
            yield url, Process(server.pid)
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
