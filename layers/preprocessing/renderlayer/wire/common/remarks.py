"""What a caller should know of a request that is answered all the same: what of it was left out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

HEADER = "x-renderlayer-warning"
SHOWN = 1000
"""Characters of the header at most."""

_collected: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


def remark(text: str) -> None:
    """Tell the caller something, once; nobody is told where nobody collects."""
    found = _collected.get()
    if found is not None and text not in found:
        found.append(text)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """Collect what is remarked inside."""
    found: list[str] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def header_value(found: list[str]) -> str:
    """The remarks as one header's value: ASCII, of bounded length."""
    return "; ".join(found).encode("ascii", "backslashreplace").decode()[:SHOWN]
