"""An encoded file as a decoder reads it, within a budget of reads for its header and of time for all of it."""

from __future__ import annotations

import time
from io import BytesIO
from typing import Any

from renderlayer.settings import Settings

_HEADER_READS = 50_000
_READS_A_LOOK, _SMALL = 256, 1024
"""The clock is looked at once in so many reads of few bytes."""
_LOAD = 6
"""A machine under load gives a decoder so much longer, at most."""


class Clock:
    """Counts the seconds of a decoder: those of the processor in the thread that made it, and with patience all others.

    Args:
        seconds: how many there are.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._busy = time.thread_time() + seconds
        self._end = time.monotonic() + seconds * _LOAD

    def check(self) -> None:
        """Raise when they are over.

        Raises:
            OSError: they are.
        """
        if time.thread_time() > self._busy or time.monotonic() > self._end:
            raise OSError(too_long(self._seconds))


def damage(error: Exception) -> str:
    """What a client is told of an exception that a decoder raised: its words where they are meant for people."""
    if isinstance(error, (OSError, SyntaxError)) and getattr(error, "errno", None) is None and str(error):
        return str(error).split(" at 0x")[0]
    return "its data are damaged"


def too_long(seconds: float) -> str:
    """What is said of a medium whose decoding was given up."""
    return f"decoding takes more than {seconds:g} seconds"


class Source(BytesIO):
    """Encoded bytes; reading raises OSError when the clock has run down, or the header takes too many reads.

    Attributes:
        opened: to be set once the header is read.
    """

    def __init__(self, data: bytes, seconds: float = Settings.media_decode_seconds) -> None:
        super().__init__(data)
        self.opened = False
        self._reads = 0
        self._clock = Clock(seconds)

    def read(self, size: int | None = -1, /) -> bytes:
        self._count(size or 0)
        return super().read(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        self._count()
        return super().readline(size)

    def readinto(self, buffer: Any, /) -> int:
        self._count()
        return super().readinto(buffer)

    def _count(self, size: int = 0) -> None:
        self._reads += 1
        if self._reads % _READS_A_LOOK == 0 or not 0 <= size < _SMALL:
            self._clock.check()
        if self._reads > _HEADER_READS and not self.opened:
            raise OSError("its header is too long")
