"""One piece of work at a time for each key: callers who come while it is under way share its outcome."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SingleFlight(Generic[Value]):
    """Work under way, by key; nothing is kept once it is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Value]] = {}

    def join(self, key: str, work: Callable[[], Value]) -> Value:
        """Do the work in this thread, or wait for the thread that is at it.

        Raises:
            BaseException: what the work raised, in every caller.
        """
        with self._lock:
            flight = self._under_way.get(key)
            leading = flight is None
            if flight is None:
                flight = self._under_way[key] = Future()
        if leading:
            try:
                flight.set_result(work())
            except BaseException as error:
                flight.set_exception(error)
            finally:
                with self._lock:
                    del self._under_way[key]
        return flight.result()
