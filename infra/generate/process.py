"""What the process needs to be told before torch is imported."""

from __future__ import annotations

import ctypes
import os

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's mallopt
_HALF_GIGABYTE = 1 << 29


def prepare() -> None:
    """Tune threads and memory to a server whose steps are short.

    Threads that wait for work sleep instead of spinning: the engine shares its cores with a gateway and a client. And
    glibc keeps freed memory of a step's size: otherwise each step maps and unmaps the pages of a row of logits, which
    costs more than to compute them.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _HALF_GIGABYTE)
        mallopt(_TRIM_THRESHOLD, _HALF_GIGABYTE)
