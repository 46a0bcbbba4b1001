"""What a template that came in a request may spend: time, characters, memory.

One budget lives for one compilation or one rendering; guards find it through `current()`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2.utils import Namespace

from renderlayer.errors import BadRequest

MAX_TEXT = 8 << 20
"""Code points of any one text that a template makes, its output included."""
MAX_NODES = 500_000
"""Values inside one container, counted as often as they occur in it."""
MAX_DEPTH = 100
"""Containers within containers."""
MAX_PRODUCED = 256 << 20
"""Bytes of all values that a rendering makes."""

MAX_WIDTH = 10_000
"""Largest width, indentation or precision that a template may ask for."""

_budget: ContextVar[Budget] = ContextVar("template_budget")


class Budget:
    """Counts down; whatever goes over it raises BadRequest."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._produced = 0

    def check(self) -> None:
        """Raise when the time is over."""
        if time.monotonic() > self._deadline:
            raise BadRequest(f"The chat template of the request took more than {self._seconds:g} seconds.")

    def charge(self, value: Any) -> Any:
        """Count a value that was just made; gives it back."""
        self.produce(sys.getsizeof(value))
        return value

    def produce(self, size: int) -> None:
        """Count bytes that were made or are about to be."""
        self._produced += size
        if self._produced > MAX_PRODUCED:
            raise BadRequest("The chat template of the request makes too much data.")

    def weigh(self, value: Any) -> tuple[int, int]:
        """Values and code points inside `value`, as an operation that visits all of it would meet them.

        A small container can stand for a huge text: `[a, a]`, thirty times around itself. It is weighed before any
        operation that walks through it.
        """
        if isinstance(value, str):
            limit_text(len(value))
            return 1, len(value)
        count, characters, level = 0, 0, [value]
        for _ in range(MAX_DEPTH):
            below: list[Any] = []
            for item in level:
                if isinstance(item, str):
                    characters += len(item)
                elif isinstance(item, (list, tuple)):
                    below.extend(item)
                elif isinstance(item, dict):
                    below.extend(item)
                    below.extend(item.values())
                elif isinstance(item, Namespace):
                    below.append(item._Namespace__attrs)
                elif isinstance(item, range):
                    count += len(item)
            self.check()
            count += len(level)
            if count + len(below) > MAX_NODES or characters > MAX_TEXT:
                break
            if not below:
                return count, characters
            level = below
        raise BadRequest("The chat template of the request makes too large a value.")


def limit_text(length: int) -> None:
    """Raise when a text of `length` code points is too long to be made."""
    if length > MAX_TEXT:
        raise BadRequest(f"The chat template of the request makes a text of more than {MAX_TEXT} characters.")


def limit_width(*values: Any) -> None:
    """Refuse widths that would pad a text to a huge one."""
    for value in values:
        size = len(value) if isinstance(value, str) else value
        if isinstance(size, int) and abs(size) > MAX_WIDTH:
            raise BadRequest(f"The chat template of the request asks for a width of more than {MAX_WIDTH}.")


def current() -> Budget:
    """The budget of the running compilation or rendering."""
    return _budget.get()


@contextmanager
def spending(budget: Budget) -> Iterator[Budget]:
    """Make `budget` the current one."""
    token = _budget.set(budget)
    try:
        yield budget
    finally:
        _budget.reset(token)
