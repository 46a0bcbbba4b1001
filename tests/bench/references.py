"""`python -m tests.bench.references`: what references cost and save, with moto's server as S3.

1. The engine: processor time of a request whose 20 MB payload comes inline, by a reference that is fetched, and by one
   that is in memory; less what the application spends on reading a body of that size however it came.
2. Render: a 1080p photo by reference over the runtime client, the first time and again.
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
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import httpx

from renderlayer.bundle.pack import pack
from renderlayer.references.address import Place
from renderlayer.references.fetch import base64_size
from renderlayer.references.middleware import PATH
from renderlayer.storage.s3 import S3Store
from tests.bench.measure import require
from tests.events import http_api
from tests.multimodal.images import data_url, encoded, picture
from tests.references.engines import base64_of, request, stored
from tests.references.vision import make_vision_folder
from tests.runtime import Function

PAYLOAD = 20 << 20
ROUNDS = 7
AGAIN = 60
BUCKET = "bench-references"
S3 = """
import threading
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
threading.Event().wait()
"""


def main() -> None:
    with child([sys.executable, "-c", S3]) as port:
        os.environ |= {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
            "RENDERLAYER_REFERENCE_BUCKET": BUCKET,
        }
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        engine()
        render()


@contextmanager
def child(command: list[str]) -> Iterator[int]:
    """A server as a child process, by the port that it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, **quiet) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def engine() -> None:
    """Print the processor time of an engine's front end, and of the client that sends to it."""
    place, store = Place(BUCKET, "references"), S3Store()
    payloads = [os.urandom(PAYLOAD) for _ in range(ROUNDS)]
    references = [request(stored(store, place, payload)) for payload in payloads]
    inline = request(base64_of(payloads[0]))
    with (
        child([sys.executable, "-m", "tests.bench.reference_engine"]) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client,
    ):
        _sent(client, references[0])
        size = base64_size(PAYLOAD)
        read = statistics.median(float(client.get(f"/read?size={size}").text) for _ in range(ROUNDS))
        print(f"\nengine, 20 MB payload: processor ms of a request beside the {read * 1e3:.0f} ms of reading its JSON")
        cases = {
            "inline": [inline] * ROUNDS,
            "reference, fetched": references[1:],
            "reference, in memory": references[1:],
        }
        added: dict[str, float] = {}
        for name, bodies in cases.items():
            taken = [_sent(client, body) for body in bodies]
            server = statistics.median(server for server, _ in taken) - read
            sender = statistics.median(sender for _, sender in taken)
            added[name] = server + sender
            print(f"  {name:22} engine {server * 1e3:6.1f}   sender {sender * 1e3:6.1f}")
        share = added["reference, fetched"] / added["inline"]
        print(f"  a reference adds {share:.0%} of what sending the payload inline adds")


def _sent(client: httpx.Client, body: Any) -> tuple[float, float]:
    """Processor seconds of the engine and of this process for one request."""
    before, began = float(client.get("/").text), time.process_time()
    client.post(PATH, json=body).raise_for_status()
    took = time.process_time() - began
    return float(client.get("/").text) - before, took


def render() -> None:
    """Print how long the render function takes for a photo that is new, and for one that is stored."""
    # as many bytes as a real photo of that size: the picture is noisy
    photo = data_url(encoded(picture(1920, 1080), "JPEG", quality=30), "image/jpeg")
    part = {"type": "image_url", "image_url": {"url": photo}}
    chat = {"messages": [{"role": "user", "content": [part]}], "mm_payload": "reference"}
    event = http_api("/v1/chat/completions/render", json.dumps(chat))
    with TemporaryDirectory() as scratch:
        folder = make_vision_folder(Path(scratch) / "vision")
        pack(folder, Path(scratch) / "bundle")
        environment = {"RENDERLAYER_MODEL": str(Path(scratch) / "bundle")}
        with Function("functions.render.app.handler", environment) as function:
            first = require(function.invoke(event))
            for _ in range(5):
                require(function.invoke(event))
            began = function.processor_seconds()
            times = [require(function.invoke(event)).seconds * 1e3 for _ in range(AGAIN)]
            processor = (function.processor_seconds() - began) * 1e3 / AGAIN
            again = statistics.median(times)
    store = S3Store()
    address = json.loads(first.value["body"])["features"]["kwargs_data"]["image"][0]
    looks = [_seconds_to_look(store, address) * 1e3 for _ in range(AGAIN)]
    print("\nrender function, 1920x1080 photo by reference")
    print(f"  answer {len(first.value['body'])} bytes; first time {first.seconds * 1e3:.0f} ms")
    print(f"  again {again:.1f} ms at the median ({processor:.1f} ms of processor), of which S3's stand-in answers its")
    print(f"  HEAD request in {statistics.median(looks):.1f} ms")


def _seconds_to_look(store: S3Store, address: str) -> float:
    from renderlayer.references.address import Address

    began = time.perf_counter()
    store.describe(Address.parse(address))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
