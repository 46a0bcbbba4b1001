"""A value that is computed while something else goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """A value that a daemon thread computes, once.

    The thread then waits for ever. kitoken's allocator (mimalloc, in kitoken 0.11.1) takes the thread that imports it
    for the main one; once that has ended, calls from threads that start later crash the process.
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._outcome: list[T] = []
        self._error: Exception | None = None
        self._done = threading.Event()
        threading.Thread(target=self._run, name="renderlayer-load", daemon=True).start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._compute())
        except Exception as error:
            self._error = error
        self._done.set()
        threading.Event().wait()

    @property
    def ready(self) -> bool:
        """Whether `value` would be given at once."""
        return bool(self._outcome)

    @property
    def value(self) -> T:
        """The value, waited for; what the computation raised is raised."""
        if not self._outcome:
            self._done.wait()
            if self._error is not None:
                raise self._error
        return self._outcome[0]
