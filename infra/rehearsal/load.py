"""Callers that go on while something changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from infra.rehearsal.caller import Caller
from infra.rehearsal.steps import QUESTION
from renderlayer.errors import ConfigurationError

CALLERS = 4


class Load:
    """What `CALLERS` threads are answered; `caller` may be exchanged meanwhile."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.statuses: Counter[int | str] = Counter()
        self._done = Event()

    def run(self) -> None:
        while not self._done.is_set():
            try:
                status: int | str = self.caller.call("/v1/chat/completions/render", QUESTION).status_code
            except Exception as error:
                status = type(error).__name__
            self.statuses[status] += 1

    def stop(self) -> None:
        self._done.set()


@contextmanager
def under_load(caller: Caller) -> Iterator[Load]:
    """Requests all the time.

    Raises:
        ConfigurationError: one of them was answered with anything but 200.
    """
    load = Load(caller)
    threads = [Thread(target=load.run) for _ in range(CALLERS)]
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
