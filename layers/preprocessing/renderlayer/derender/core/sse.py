"""Server-sent events, as the engine writes them and OpenAI clients read them (wire.md 5.3).

`EventReader` is the one reader of them: of the engine's streams, and of bodies that are event streams.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from renderlayer.errors import PayloadTooLarge
from renderlayer.wire.common.base import malformed
from renderlayer.wire.common.json_text import dumped, read

DONE = b"data: [DONE]\n\n"
LARGEST_EVENT = 32 << 20
"""Bytes of one event's data."""
_END = b"[DONE]"
_BOM = b"\xef\xbb\xbf"


def event(value: Any, name: str | None = None) -> bytes:
    """One event that carries a JSON value, named or not.

    Raises:
        BadRequest: JSON cannot hold the value.
    """
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + dumped(value) + b"\n\n"


class EventReader:
    """Reads an event stream that comes in parts of any size.

    It works on bytes, since a line ends at `\\n`, `\\r\\n` or `\\r` and nowhere else: the other line separators of
    Unicode may stand inside of JSON strings, and a part may end within a character. Comments and fields other than
    `data` are passed over.

    Attributes:
        done: `[DONE]` has come; what follows it is not read.
    """

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self.done = False
        self._largest = largest
        self._size = 0  # of the event so far
        self._data: list[bytes] = []
        self._line: list[bytes] = []  # the parts of a line that has no end yet
        self._after_return = False
        self._begun = False

    def feed(self, part: bytes) -> list[bytes]:
        """The data of the events that end within this part.

        Raises:
            PayloadTooLarge: an event is larger than `largest`.
        """
        found: list[bytes] = []
        if not part:
            return found
        ends_in_return = part.endswith(b"\r")
        if self._after_return:
            part = part.removeprefix(b"\n")
        self._after_return = ends_in_return
        first, *more = _split(part)
        self._hold(first)
        for line in more:
            self._end_line(found)
            self._hold(line)
        return found

    def end(self) -> list[bytes]:
        """The data of an event that the end of the stream cut off before its blank line."""
        found: list[bytes] = []
        self._end_line(found)
        self._end_line(found)
        return found

    def _hold(self, part: bytes) -> None:
        self._line.append(part)
        self._size += len(part)
        if self._size > self._largest and not self.done:
            raise PayloadTooLarge(f"An event of the stream is larger than {self._largest} bytes.")

    def _end_line(self, found: list[bytes]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        if not self._begun:
            self._begun, line = True, line.removeprefix(_BOM)
        if self.done:
            self._size = 0
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif line:
            self._size -= len(line)
        else:
            data = b"\n".join(self._data)
            self._data.clear()
            self._size = 0
            self.done = data.strip() == _END
            if data and not self.done:
                found.append(data)


def values(body: Iterable[bytes]) -> Iterator[Any]:
    """The JSON values of an event stream, up to `[DONE]` or the end.

    Raises:
        ValidationFailed: an event's data is not JSON.
        PayloadTooLarge: an event is larger than `LARGEST_EVENT`.
    """
    reader = EventReader()
    for part in body:
        yield from map(value, reader.feed(part))
        if reader.done:
            return
    yield from map(value, reader.end())


def value(data: bytes) -> Any:
    """The JSON value of an event's data.

    Raises:
        ValidationFailed: it is none.
    """
    try:
        return read(data.decode("utf-8", "replace"))
    except json.JSONDecodeError as error:
        raise malformed(error.pos, error.msg) from None
    except (ValueError, RecursionError):
        raise malformed(0, "the value is too deep or too long") from None


def _split(part: bytes) -> list[bytes]:
    """A part at its line ends; one more than there are of them."""
    if b"\r" in part:
        part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return part.split(b"\n")
