"""The memory that this process may use, and the share of it that media take: one budget for all requests.

What does not fit beside what others hold waits, and is told to come again when it waits too long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from renderlayer.errors import BadRequest, Unavailable

LAMBDA_MEGABYTES = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
PATIENCE = 10.0
"""Seconds that a request waits for memory."""
_SHARE = 2
"""Media get this part of the memory that there is: one in so many."""
_UNKNOWN = 2 << 30
_GROUPS = Path("/sys/fs/cgroup")
_TAKEN = "The memory for media is taken by other requests. Try again."


def available(
    environ: Mapping[str, str] | None = None, groups: Path = _GROUPS, own: Path = Path("/proc/self/cgroup")
) -> int:
    """Bytes that this process may use: the least of what Lambda, the control groups and the machine have."""
    environ = os.environ if environ is None else environ
    known = [*_group_limits(groups, own), _physical()]
    if environ.get(LAMBDA_MEGABYTES, "").isdigit():
        known.append(int(environ[LAMBDA_MEGABYTES]) << 20)
    return min(filter(None, known), default=_UNKNOWN)


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def _group_limits(groups: Path, own: Path) -> Iterator[int]:
    """The limits of the process's control group and of those around it, of version 2 or 1."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _limits(groups, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits(groups / "memory", path, "memory.limit_in_bytes")


def _limits(root: Path, path: str, name: str) -> Iterator[int]:
    folder = Path(path.strip("/"))
    for group in (folder, *folder.parents):
        try:
            text = (root / group / name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():  # and not "max"
            yield int(text)


class Budget:
    """Bytes that requests share; safe to use from several threads.

    Args:
        capacity: how many there are.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held = 0
        self._changed = threading.Condition()

    @contextmanager
    def holding(self, size: int, patience: float = PATIENCE) -> Iterator[None]:
        """Have `size` bytes meanwhile, in the end.

        Raises:
            BadRequest: there are not so many.
            Unavailable: others hold them.
        """
        if size > self.capacity:
            raise BadRequest(f"The media need about {size} bytes of memory; this server has {self.capacity} for them.")
        deadline = time.monotonic() + patience
        with self._changed:
            while self.held + size > self.capacity:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise Unavailable(_TAKEN, retry_after=2)
            self.held += size
        try:
            yield
        finally:
            self.give(size)

    def take(self, size: int) -> None:
        """Have `size` bytes more, at once.

        Raises:
            Unavailable: they are not there.
        """
        with self._changed:
            if self.held + size > self.capacity:
                raise Unavailable(_TAKEN, retry_after=2)
            self.held += size

    def give(self, size: int) -> None:
        """Give back what was had."""
        with self._changed:
            self.held -= size
            self._changed.notify_all()


_kept: ContextVar[list[tuple[Budget, int]] | None] = ContextVar("kept", default=None)


@contextmanager
def until_answered() -> Iterator[None]:
    """What is kept inside of it is held until its end; of several around each other, that of the outermost."""
    if _kept.get() is not None:
        yield
        return
    held: list[tuple[Budget, int]] = []
    token = _kept.set(held)
    try:
        yield
    finally:
        _kept.reset(token)
        for budget, size in held:
            budget.give(size)


def keeper(budget: Budget) -> Callable[[int], None]:
    """What counts bytes that the running request keeps until it is answered, whatever thread calls it.

    It raises Unavailable when they are not there. Outside of `until_answered` it counts nothing.
    """
    held = _kept.get()

    def keep(size: int) -> None:
        if held is not None:
            budget.take(size)
            held.append((budget, size))

    return keep


def media_budget(configured: int | None) -> Budget:
    """The budget of this process; `configured` bytes, or half of what there is."""
    return _budget(configured or available() // _SHARE)


@lru_cache(maxsize=8)
def _budget(capacity: int) -> Budget:
    return Budget(capacity)
