"""A value that is computed while something else goes on."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet, finalize

T = TypeVar("T")

_leaving = threading.Event()
# The first finalizer registers what runs all of them at exit; so it does that after `_finish`, and not in the middle of
# an import whose finalizers would then find nothing left to work with (torch).
finalize(_leaving, int)
_begun: WeakSet[Background[Any]] = WeakSet()


@atexit.register
def _finish() -> None:
    """Wait for what is being computed: a process that ends while a thread loads a native library crashes."""
    _leaving.set()
    for each in list(_begun):
        each.settle()


class Background(Generic[T]):
    """A value that a daemon thread computes, once.

    The thread then waits for ever. kitoken's allocator (mimalloc, in kitoken 0.11.1) takes the thread that imports it
    for the main one; once that has ended, calls from threads that start later crash the process.

    Args:
        delay: seconds before it begins.
    """

    def __init__(self, compute: Callable[[], T], delay: float = 0.0) -> None:
        self._compute = compute
        self._delay = delay
        self._outcome: list[T] = []
        self._error: Exception | None = None
        self._done = threading.Event()
        _begun.add(self)
        threading.Thread(target=self._run, name="renderlayer-load", daemon=True).start()

    def _run(self) -> None:
        try:
            if _leaving.wait(self._delay):
                raise RuntimeError("the process is ending")
            self._outcome.append(self._compute())
        except Exception as error:
            self._error = error
        self._done.set()
        threading.Event().wait()

    def settle(self) -> None:
        """Wait until there is a value or an error."""
        self._done.wait()

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
