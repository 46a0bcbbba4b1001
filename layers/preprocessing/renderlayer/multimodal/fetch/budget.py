"""Limits that the fetches of one request share: bytes in all, and a deadline for each item."""

from __future__ import annotations

import threading
import time

from renderlayer.errors import Unprocessable
from renderlayer.settings import Settings


def unfetchable(reason: str) -> Unprocessable:
    """The error of media that could not be had; its param is `image_url` for every modality (wire.md 1.7)."""
    return Unprocessable(f"Failed to fetch media from URL: {reason}", "image_url")


class Deadline:
    """A point in time, `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, 0 when over."""
        return max(0.0, self._end - time.monotonic())

    def require(self) -> float:
        """Seconds left.

        Raises:
            TimeoutError: none are.
        """
        left = self.left()
        if not left:
            raise TimeoutError("timed out")
        return left


class FetchBudget:
    """Bytes that the downloads of one request may still take; safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self._item_bytes = settings.max_media_item_bytes
        self._request_bytes = settings.max_media_request_bytes
        self._received = 0
        self._lock = threading.Lock()

    def check_item(self, size: int) -> None:
        """Refuse an item of `size` bytes that is too large by itself.

        Raises:
            Unprocessable: it is.
        """
        if size > self._item_bytes:
            raise unfetchable(f"media exceed the limit of {self._item_bytes} bytes an item")

    def receive(self, size: int) -> None:
        """Account for `size` bytes that arrived.

        Raises:
            Unprocessable: the request has received more than it may.
        """
        with self._lock:
            self._received += size
            received = self._received
        if received > self._request_bytes > 0:
            raise unfetchable(
                f"Request media downloads exceed the limit of {self._request_bytes} bytes "
                f"({received} bytes received, including retried attempts)."
            )
