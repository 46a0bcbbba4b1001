"""Calls as chat completions tell them: of functions, or of custom tools with their input (wire.md 6.5 to 6.7, 11.1)."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from renderlayer.derender.events.custom_input import CustomInput
from renderlayer.parsers.core.events import Call, CallArguments, CallStart

Json = dict[str, Any]

# An open call of a custom tool: its index, and what its `CustomInput` remembers.
OpenCall = tuple[int, int, str]


def whole_call(call: Call, custom: Container[str]) -> Json:
    """A call of a whole message.

    Args:
        custom: names of custom tools.
    """
    if call.name not in custom:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    reader = CustomInput()
    text = reader.push(call.arguments) + reader.finish()
    return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}


class CallEncoder:
    """Tells the calls of a stream, one after the other.

    Args:
        custom: names of custom tools.
        open_call: what `memory` gave, to go on where another chunk ended.
    """

    def __init__(self, custom: Container[str] = (), open_call: OpenCall | None = None) -> None:
        self._custom = custom
        self._index, self._reader = -1, CustomInput()
        if open_call is not None:
            self._index, self._reader = open_call[0], CustomInput(*open_call[1:])
        self._rows: dict[int, Json] = {}

    def memory(self) -> OpenCall | None:
        """The custom tool's call that is open, if one is."""
        return (self._index, *self._reader.memory()) if self._index >= 0 else None

    def take(self, event: CallStart | CallArguments) -> None:
        """Add what an event tells to the chunk at hand."""
        if isinstance(event, CallStart):
            self._close()
            kind = "custom" if event.name in self._custom else "function"
            self._index = event.index if kind == "custom" else -1
            row = self._row(event.index)
            row["id"], row["type"], row[kind]["name"] = event.id, kind, event.name
        elif event.index == self._index:
            self._add(event.index, self._reader.push(event.text))
        else:
            function = self._row(event.index)["function"]
            function["arguments"] = (function["arguments"] or "") + event.text

    def encoded(self, finished: bool) -> list[Json]:
        """The chunk's calls; begins the next chunk.

        Args:
            finished: it is the last one.
        """
        if finished:
            self._close()
        rows, self._rows = list(self._rows.values()), {}
        return rows

    def _close(self) -> None:
        if self._index >= 0:
            self._add(self._index, self._reader.finish())
        self._index, self._reader = -1, CustomInput()

    def _add(self, index: int, text: str) -> None:
        if text:
            custom = self._row(index)["custom"]
            custom["input"] = (custom["input"] or "") + text

    def _row(self, index: int) -> Json:
        """The chunk's part of a call, its values null until they are told."""
        held = {"custom": {"name": None, "input": None}}
        if index != self._index:
            held = {"function": {"name": None, "arguments": None}}
        return self._rows.setdefault(index, {"id": None, "type": None, "index": index, **held})
