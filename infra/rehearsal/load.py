"""Callers that go on while something changes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from infra.rehearsal.caller import Caller
from infra.rehearsal.steps import QUESTION
from renderlayer.errors import ConfigurationError

CALLERS = 4


class Load:
    """What `CALLERS` threads are answered."""

    def __init__(self, caller: Caller) -> None:
        self.statuses: Counter[int | str] = Counter()
        self._caller = caller
        self._used = [caller] * CALLERS
        self._done = Event()

    def run(self, number: int) -> None:
        while not self._done.is_set():
            caller = self._caller
            try:
                status: int | str = caller.call("/v1/chat/completions/render", QUESTION).status_code
            except Exception as error:
                status = type(error).__name__
            self.statuses[status] += 1
            self._used[number] = caller

    def switch(self, caller: Caller) -> None:
        """Have all threads use another one; returns when no request of the old one is under way."""
        self._caller = caller
        while any(used is not caller for used in self._used):
            time.sleep(0.01)

    def stop(self) -> None:
        self._done.set()


@contextmanager
def under_load(caller: Caller) -> Iterator[Load]:
    """Requests all the time.

    Raises:
        ConfigurationError: one of them was answered with anything but 200.
    """
    load = Load(caller)
    threads = [Thread(target=load.run, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop()
        for thread in threads:
            thread.join()
    if set(load.statuses) != {200}:
        raise ConfigurationError(f"requests failed meanwhile: {dict(load.statuses)}")
