"""Making an exchange smaller while it still differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.reference.exchanges import Exchange

TRIES = 150


def reduced(exchange: Exchange, differs: Callable[[Exchange], bool]) -> Exchange:
    """The smallest exchange found that still differs."""
    tries, found = 0, True
    while found and tries < TRIES:
        found = False
        for body in smaller(exchange.body):
            tries += 1
            candidate = replace(exchange, body=body)
            if differs(candidate):
                exchange, found = candidate, True
                break
            if tries >= TRIES:
                break
    return exchange


def smaller(value: Any) -> Iterator[Any]:
    """Values with one thing less, those that lose most first."""
    if isinstance(value, dict):
        for key in value:
            yield {name: held for name, held in value.items() if name != key}
        for key, held in value.items():
            for less in smaller(held):
                yield {**value, key: less}
    elif isinstance(value, list):
        for at in range(len(value)):
            yield [*value[:at], *value[at + 1 :]]
        for at, held in enumerate(value):
            for less in smaller(held):
                yield [*value[:at], less, *value[at + 1 :]]
    elif isinstance(value, str) and len(value) > 1 and not value.startswith("data:"):
        yield "x"
