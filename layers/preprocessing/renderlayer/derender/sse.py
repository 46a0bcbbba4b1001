"""Server-sent events, as the engine writes them and OpenAI clients read them (wire.md 5.3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from renderlayer.wire._base import malformed
from renderlayer.wire._json import dumped, read

DONE = b"data: [DONE]\n\n"
_END = "[DONE]"


def event(value: Any, name: str | None = None) -> bytes:
    """One event that carries a JSON value, named or not.

    Raises:
        BadRequest: JSON cannot hold the value.
    """
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + dumped(value) + b"\n\n"


def values(body: Iterable[bytes]) -> Iterator[Any]:
    """The JSON values of an event stream that comes in parts of any size, up to `[DONE]` or the end.

    Comments and fields other than `data` are passed over.

    Raises:
        ValidationFailed: an event's data is not JSON.
    """
    data: list[str] = []
    for line in _lines(body):
        if line:
            if line.startswith(b"data:"):
                data.append(line[5:].decode("utf-8", "replace").removeprefix(" "))
            continue
        text = "\n".join(data)
        data.clear()
        if text == _END:
            return
        if text:
            yield _value(text)
    if data and data != [_END]:
        yield _value("\n".join(data))


def _lines(body: Iterable[bytes]) -> Iterator[bytes]:
    rest: list[bytes] = []
    for part in body:
        first, *more = part.split(b"\n")
        rest.append(first)
        for line in more:
            yield b"".join(rest).removesuffix(b"\r")
            rest = [line]
    yield b"".join(rest).removesuffix(b"\r")


def _value(text: str) -> Any:
    try:
        return read(text)
    except json.JSONDecodeError as error:
        raise malformed(error.pos, error.msg) from None
    except (ValueError, RecursionError):
        raise malformed(0, "the value is too deep or too long") from None
