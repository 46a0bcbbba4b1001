"""What a piece of work costs: run in a child process under limits, and measured there."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from renderlayer.errors import RenderLayerError

PRELOADED = ["tests.hostile.child", "renderlayer.bundle.engines.limited", "renderlayer.multimodal.video.clip"]
PRELOADED += ["PIL.Image", "numpy", "renderlayer.multimodal.audio.sound", "renderlayer.multimodal.image.processing"]
CEILING = 6 << 30
"""Bytes that no child may exceed, measured or not."""
LONGEST = 120
"""Seconds of processor time that no child may exceed."""


@dataclass(frozen=True)
class Spent:
    """What one run took.

    Args:
        seconds: processor time, that of its own children included.
        memory: bytes by which its peak exceeded what it started with, or its largest child's peak.
        status: 200, the status of the error that it raised, or 0 for anything else that ended it.
        outcome: what it returned, or the error's text.
    """

    seconds: float
    memory: int
    status: int
    outcome: Any


def spent(work: Callable[..., Any], *arguments: Any) -> Spent:
    """Run `work(*arguments)`, both of which can be pickled, in a child."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(sender, work, arguments))
    process.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        outcome = None
    process.join()
    return outcome or Spent(0.0, 0, 0, f"ended with {process.exitcode}")


def _measured(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (CEILING, CEILING))
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    peak_begins_anew()
    before, began = resident("VmRSS"), seconds()
    status = 200
    try:
        outcome = work(*arguments)
    except RenderLayerError as error:
        status, outcome = error.status, error.message
    except BaseException as error:
        status, outcome = 0, f"{type(error).__name__}: {error}"
    own = resident("VmHWM") - before
    sender.send(Spent(seconds() - began, max(own, _largest_child()), status, outcome))


def peak_begins_anew() -> None:
    """Forget how much memory this process has had at its peak."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def resident(line: str) -> int:
    """Bytes of memory of this process: `VmRSS` now, `VmHWM` at its peak."""
    for text in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if text.startswith(line):
            return int(text.split()[1]) * 1024
    raise LookupError(line)


def _largest_child() -> int:
    """Bytes that the largest child that has ended had at its peak."""
    from renderlayer import confined

    confined.close_all()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
