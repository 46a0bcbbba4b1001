"""Work in processes of its own: what it may take, and what becomes of those who go over it."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from renderlayer.confined import Confined, OutOfMemory, OutOfTime

MEMORY = 64 << 20


def answer(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Run in the worker: what the request says."""
    match request["do"]:
        case "echo":
            return {"pid": os.getpid(), "variables": sorted(os.environ), "request": request["with"]}, data
        case "burn":
            while True:
                pass
        case "fill":
            return {}, b"x" * request["bytes"]
        case "keep":
            return {"size": len(b"x" * request["bytes"])}, b""
        case "crash":
            os.abort()
        case "print":
            print("into the answers?")
            return {}, b""
    raise AssertionError


@pytest.fixture(scope="module")
def confined() -> Confined:
    return Confined(f"{__name__}:answer", seconds=0.3, memory=MEMORY, workers=2, most=16 << 20)


def test_what_goes_in_comes_out(confined: Confined, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    data = os.urandom(3 << 20)
    first, out = confined({"do": "echo", "with": ["é\ud800", 1 << 200]}, data)
    assert out == data and first["request"] == ["é\ud800", 1 << 200]
    assert not any("AWS" in name for name in first["variables"])
    assert first["pid"] != os.getpid()
    assert confined({"do": "echo", "with": None})[0]["pid"] == first["pid"]


@pytest.mark.parametrize(
    ("request_", "raised"),
    [
        ({"do": "burn"}, OutOfTime),
        ({"do": "fill", "bytes": 1 << 30}, OutOfMemory),
        ({"do": "fill", "bytes": 20 << 20}, OutOfMemory),  # more than an answer may have
        ({"do": "crash"}, OutOfMemory),
        ({"do": "unheard of"}, OutOfMemory),
    ],
)
def test_who_goes_over_a_limit_is_ended_and_replaced(
    confined: Confined, request_: dict[str, Any], raised: type[Exception]
) -> None:
    for _ in range(3):
        with pytest.raises(raised):
            confined(request_)
    assert confined({"do": "echo", "with": 1})[0]["request"] == 1


def test_a_worker_that_grew_is_replaced() -> None:
    roomy = Confined(f"{__name__}:answer", seconds=5, memory=400 << 20, workers=1)
    first = roomy({"do": "echo", "with": 1})[0]["pid"]
    assert roomy({"do": "keep", "bytes": 150 << 20})[0]["size"] == 150 << 20
    assert roomy({"do": "echo", "with": 1})[0]["pid"] != first
    roomy.close()


def test_what_it_prints_is_no_answer(confined: Confined) -> None:
    assert confined({"do": "print"}) == ({}, b"")


def test_callers_wait_for_a_worker(confined: Confined) -> None:
    pids: set[int] = set()

    def call() -> None:
        pids.add(confined({"do": "echo", "with": 1})[0]["pid"])

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(pids) <= 2
