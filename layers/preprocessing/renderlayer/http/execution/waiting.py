"""How many answers may wait for the engine at a time."""

from __future__ import annotations

from renderlayer.errors import TooManyRequests

RETRY_AFTER = 1
"""Seconds after which a request that was refused may come again."""


class Waiting:
    """Counts the answers under way, whole or streamed, from the request to the last byte.

    Args:
        most: how many there may be; 0: any number.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.count = 0

    def enter(self) -> None:
        """Count one more; `leave` must follow.

        Raises:
            TooManyRequests: there are as many as there may be.
        """
        if self._most and self.count >= self._most:
            raise TooManyRequests(
                f"{self._most} answers are waiting for the engine (RENDERLAYER_MAX_WAITING_ANSWERS). Try again.",
                retry_after=RETRY_AFTER,
            )
        self.count += 1

    def leave(self) -> None:
        """Count one less."""
        self.count -= 1
