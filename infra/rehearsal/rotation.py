"""A key that is rotated while callers go on."""

from __future__ import annotations

import time

from infra.rehearsal.caller import Caller
from infra.rehearsal.load import under_load
from infra.rehearsal.stack import Stack
from renderlayer.errors import ConfigurationError
from renderlayer.http.middleware.auth import RECHECK_SECONDS

ROTATION_SECONDS = 180


def rotate(stack: Stack, secret: str, old: str, new: str) -> str:
    """Another key counts within seconds, the old one ends within minutes, without deployment or failed request."""
    client, url = stack.cloud.client("secretsmanager"), stack.outputs()["ApiUrl"]
    with under_load(Caller(stack, url, old)) as load:
        client.put_secret_value(SecretId=secret, SecretString=f"{new},{old}")
        first = _until(Caller(stack, url, new), 200)
        time.sleep(RECHECK_SECONDS)  # an environment that has just read the secret looks again after that
        load.switch(Caller(stack, url, new))
        client.put_secret_value(SecretId=secret, SecretString=new)
        last = _until(Caller(stack, url, old), 401)
    told = f"the new key counts after {first:.0f} s, the old one ends after {last:.0f} s"
    return f"{told}; {load.statuses[200]} requests meanwhile, none failed"


def _until(caller: Caller, status: int) -> float:
    """Seconds until a key is answered so."""
    began = time.monotonic()
    while time.monotonic() - began < ROTATION_SECONDS:
        if caller.call("/v1/models").status_code == status:
            return time.monotonic() - began
        time.sleep(1)
    raise ConfigurationError(f"a key was not answered with {status} within {ROTATION_SECONDS} s")
