"""The reference and ours, started with the same flags."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port

START_DATE = "2026-11-29"
READY = 900
"""Seconds until a server must answer."""


@contextmanager
def reference(folder: Path, model: str, flags: tuple[str, ...]) -> Iterator[str]:
    """The reference's render server of `folder`, by its scripts `render NAME PORT MODEL FLAGS` and `stop NAME`."""
    port = free_port()
    name = f"differential-{port}"
    try:
        subprocess.run([folder / "render", name, str(port), model, *flags], check=False, timeout=READY)
        wait_until_ready(f"http://127.0.0.1:{port}")  # a script may give up before a busy machine does
        yield f"http://127.0.0.1:{port}"
    finally:
        subprocess.run([folder / "stop", name], check=False, timeout=60)


@contextmanager
def ours(folder: Path, model: str, flags: tuple[str, ...]) -> Iterator[str]:
    """Our server for the model of the same folder."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    address = ["--served-model-name", model, "--host", "127.0.0.1", "--port", str(port)]
    command = [sys.executable, "-m", "infra.local", "serve", str(folder / "models" / model), *address, *flags]
    names = {"RENDERLAYER_MODEL_ID_FOR_HASH": f"models/{model}", "RENDERLAYER_SYSTEM_START_DATE": START_DATE}
    with subprocess.Popen(
        command, env={**os.environ, **names}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            wait_until_ready(url)
            yield url
        finally:
            server.terminate()


def wait_until_ready(url: str) -> None:
    end = time.monotonic() + READY
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"no server became ready at {url}")
