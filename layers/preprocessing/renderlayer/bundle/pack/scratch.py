"""Folders that packing writes into before their content takes its place; none is left behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MARK = ".packing-"
_NEW_SECONDS = 60
"""Age below which a folder may be one that another process has made and not locked yet."""


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """A folder beside `out`, removed in the end unless it was moved.

    It is locked for as long as its process lives; those of processes that were killed are removed first.
    """
    sweep(out.parent)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}{_MARK}", dir=out.parent))
    descriptor = os.open(work, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks; the folder's age protects it for a while
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(descriptor)


def sweep(parent: Path) -> None:
    """Remove what processes that were killed left in a folder."""
    for left in parent.glob(f".*{_MARK}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _NEW_SECONDS and _unlocked(left):
                shutil.rmtree(left, ignore_errors=True)


def _unlocked(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
