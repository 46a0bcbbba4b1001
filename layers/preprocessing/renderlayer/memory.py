"""The memory that this process may use, and the share of it that media take: one budget for all requests.

What does not fit beside what others hold waits, and is told to come again when it waits too long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from renderlayer.errors import BadRequest, Unavailable
from renderlayer.request_context import answered

LAMBDA_MEGABYTES = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
PATIENCE = 10.0
"""Seconds that a request waits for memory."""
_SHARE = 2
"""Media get this part of the memory that there is: one in so many."""
_UNKNOWN = 2 << 30
_MMAP_THRESHOLD, _LARGEST = -3, 32 << 20
_TRIM_THRESHOLD, _KEPT = -1, 64 << 20
_ARENA_MAX, _ARENAS = -8, 2
_CROWDED = 64
"""Above this part of a budget, one in so many, freed memory is given back."""
_GROUPS = Path("/sys/fs/cgroup")


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
    def holding(self, size: int, patience: float = PATIENCE) -> Iterator[Hold]:
        """Have `size` bytes meanwhile, in the end.

        Raises:
            BadRequest: there are not so many.
            Unavailable: others hold them.
        """
        if size > self.capacity:
            raise BadRequest(f"The media need about {size} bytes of memory; this server has {self.capacity} for them.")
        self.exchange(0, size, patience)
        hold = Hold(self, size)
        try:
            yield hold
        finally:
            self.exchange(hold.size, 0)

    def taken(self, size: int) -> bool:
        """Have `size` bytes if they are there now."""
        with self._changed:
            if self.held + size > self.capacity:
                return False
            self.held += size
            return True

    def exchange(self, given: int, taken: int, patience: float = PATIENCE) -> None:
        """Give bytes back and have others, at once.

        Raises:
            Unavailable: they are not there.
        """
        deadline = time.monotonic() + patience
        if given > taken and self.held > self.capacity // _CROWDED:
            _return_freed()
        with self._changed:
            while taken > given and self.held + taken - given > self.capacity:
                if not self._changed.wait(deadline - time.monotonic()):
                    raise Unavailable("The memory for media is taken by other requests. Try again.", retry_after=2)
            self.held += taken - given
            self._changed.notify_all()


class Hold:
    """Bytes of a budget; safe to use from several threads of the request that made it.

    Attributes:
        size: how many are left of them.
    """

    def __init__(self, budget: Budget, size: int) -> None:
        self.size = size
        self._budget = budget
        self._answered = answered()

    def keep(self, part: int, size: int) -> None:
        """Do without `part` of the bytes from now on, and hold `size` until the request is answered.

        Outside of `until_answered` there is nothing to hold them for.

        Raises:
            Unavailable: they are not there.
        """
        if self._answered is None:
            size = 0
        self._budget.exchange(part, size)
        self.size -= part
        if self._answered is not None:
            self._answered.callback(self._budget.exchange, size, 0)


@lru_cache(maxsize=1)
def _c_library() -> Any:
    import ctypes

    return ctypes.CDLL(None)


def _return_freed() -> None:
    """Give what is free between blocks that are not back to the system."""
    with suppress(OSError, AttributeError):
        _c_library().malloc_trim(0)


@lru_cache(maxsize=1)
def reuse_large_blocks() -> None:
    """Have freed blocks of up to 32 MB be used again in this process, where its C library knows how.

    Taken from the system anew, the memory of an answer with tensors costs more time than all the work on it. What is
    free at the end of an arena goes back beyond 64 MB, and all that is free once requests hold much of a budget.
    Every thread would otherwise have an arena of its own, which grows for as long as threads take turns.
    """
    with suppress(OSError, AttributeError):
        mallopt = _c_library().mallopt
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_ARENA_MAX, _ARENAS)


def media_share(configured: int | None) -> int:
    """Bytes that media may take in this process: those configured, or half of what there is."""
    return configured or available() // _SHARE


def media_budget(configured: int | None) -> Budget:
    """The budget of this process; `configured` bytes, or half of what there is."""
    return _budget(media_share(configured))


@lru_cache(maxsize=8)
def _budget(capacity: int) -> Budget:
    return Budget(capacity)
