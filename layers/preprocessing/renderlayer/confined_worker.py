"""The inside of a `confined` worker: one function, called with what comes in, under limits that the kernel holds."""

from __future__ import annotations

import gc
import json
import os
import pickle
import resource
import signal
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_HEAD = struct.Struct(">IQ")
_GROWN = 64 << 20
"""Bytes that a worker may have grown by before it is replaced."""

Function = Callable[[Any, bytes], tuple[dict[str, Any], bytes]]


def main(function: str, seconds: str, memory: str, most: str) -> None:
    """Serve calls until the parent closes its end; what the function prints goes nowhere."""
    module, _, name = function.partition(":")
    work: Function = getattr(import_module(module), name)
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    started = _resident()
    _limit(int(memory))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while head := source.read(_HEAD.size):
        size, behind = _HEAD.unpack(head)
        request, data = source.read(size), source.read(behind)
        signal.setitimer(signal.ITIMER_PROF, float(seconds))
        answer, out = work(pickle.loads(request), data)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if _resident() - started > _GROWN:
            answer["last"] = True
        text = json.dumps(answer).encode()
        if len(text) + len(out) > int(most):
            sys.exit(1)
        sink.write(_HEAD.pack(len(text), len(out)))
        sink.write(text)
        sink.write(out)
        sink.flush()
        del request, data, answer, out, text
        gc.collect()


def _limit(memory: int) -> None:
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(kind, (most, most))
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # no Linux
        return
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _resident() -> int:
    """Bytes at the peak, since this program began: what `getrusage` tells includes the parent's, from before exec."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:  # no Linux
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)
