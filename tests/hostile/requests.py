"""What requests cost a server, by their size: measured in a child process under limits."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from renderlayer.http.execution.body_memory import BYTES_A_BYTE, BYTES_OF_TOKENS, TOKENIZED, weight
from tests.hostile.child import peak_begins_anew, resident, seconds, spent

JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Cost:
    """What one request took.

    Args:
        size: bytes of its body.
        weighed: bytes of memory that are counted for it.
        status: of the answer.
        seconds: processor time.
        memory: bytes by which the peak exceeded what the process had before.
    """

    size: int
    weighed: int
    status: int
    seconds: float
    memory: int


def costs(bundle: Path, path: str, kinds: Sequence[str], sizes: Sequence[int]) -> dict[str, list[Cost]]:
    """By kind the costs of its bodies, each about as large as its size says, one after the other."""
    outcome = spent(_asked, bundle, path, kinds, sizes)
    assert outcome.status == 200, outcome
    found: dict[str, list[Cost]] = outcome.outcome
    return found


def _asked(bundle: Path, path: str, kinds: Sequence[str], sizes: Sequence[int]) -> dict[str, list[Cost]]:
    from starlette.testclient import TestClient

    from renderlayer.bundle import open_bundle
    from renderlayer.http.server.serve import application
    from renderlayer.served_model import ServedModel
    from renderlayer.settings import Settings
    from tests.hostile.shapes import SHAPES

    settings = Settings(model="small", served_model_name=["small"], log_level="error")
    app = application(settings, server=ServedModel(open_bundle(bundle), settings))
    with TestClient(app, raise_server_exceptions=False) as client:
        for kind in kinds:
            client.post(path, content=SHAPES[kind](1000), headers=JSON)  # what is loaded once
        return {kind: [_cost(client, path, SHAPES[kind](size)) for size in sizes] for kind in kinds}


def _cost(client: Any, path: str, body: bytes) -> Cost:
    gc.collect()
    peak_begins_anew()
    before, began = resident("VmRSS"), seconds()
    status = client.post(path, content=body, headers=JSON).status_code
    weighed = weight(body, BYTES_OF_TOKENS if path == TOKENIZED else BYTES_A_BYTE)
    return Cost(len(body), weighed, status, seconds() - began, resident("VmHWM") - before)
