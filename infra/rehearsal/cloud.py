"""The emulated AWS as a process: started, asked by boto3, stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.rehearsal.machine import CACHE, ROOT, Machine
from renderlayer.errors import ConfigurationError

READY_SECONDS = 60
REGION = "eu-central-1"


@dataclass(frozen=True)
class Cloud:
    """Where it listens, and where it writes its log."""

    port: int
    log: Path
    region: str = REGION

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """Variables by which programs take it for AWS."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": self.region,
            "SAM_CLI_TELEMETRY": "0",
        }

    def client(self, service: str) -> Any:
        """A boto3 client."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=self.region,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )


@contextmanager
def running(machine: Machine, port: int, folder: Path = CACHE) -> Iterator[Cloud]:
    """The emulator for as long as the context lasts; roles are enforced.

    Args:
        folder: for its log and its temporary files.

    Raises:
        ConfigurationError: it does not start.
    """
    log, temporary = folder / f"emulator-{port}.log", folder / f"tmp-{port}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    environment = {
        "PATH": os.defpath + os.pathsep + "/usr/local/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(temporary),
        "AUTH": "true",
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "false",
        "LAMBDA_EXECUTOR": "local",
        "LAMBDA_PYTHON": str(machine.functions),
    }
    with log.open("w") as output:
        command = [str(machine.emulator), "-m", "infra.rehearsal.emulator"]
        child = subprocess.Popen(
            command, cwd=temporary, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            _wait(child, f"http://127.0.0.1:{port}/_ministack/health", log)
            yield Cloud(port, log)
        finally:
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            shutil.rmtree(temporary, ignore_errors=True)


def _wait(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + READY_SECONDS
    while time.monotonic() < end and child.poll() is None:
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise ConfigurationError(f"the emulator did not start:\n{log.read_text()[-2000:]}")
