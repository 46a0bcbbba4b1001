"""Writing a call's arguments as JSON while they come: members one by one, strings as they grow."""

from __future__ import annotations

import json
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.resumable import Resumable
from renderlayer.parsers.values.json_scan import quoted


class ArgumentsWriter(Resumable):
    """Writes one object at a time to the emitter.

    Memory: whether the object has members, and the key of the member that comes next.
    """

    memory: ClassVar[tuple[str, ...]] = ("members", "key", "quoting")

    def __init__(self, out: Emitter) -> None:
        self.out = out
        self.reset()

    def reset(self) -> None:
        """Begin another object."""
        self.members = False
        self.quoting = False
        self.key = ""

    def member(self, json_text: str) -> None:
        """Write a member with the remembered key and a complete value, or the beginning of one."""
        before = ", " if self.members else "{"
        self.members = True
        self.out.arguments(f"{before}{json.dumps(self.key, ensure_ascii=False)}: {json_text}")

    def merge(self, json_object: str) -> None:
        """Write the members of a JSON object as members of this one."""
        inner = json_object.strip()[1:-1].strip()
        if inner:
            self.out.arguments((", " if self.members else "{") + inner)
            self.members = True

    def text(self, text: str) -> None:
        """Write more of a string value; the first piece opens it."""
        if not self.quoting:
            self.quoting = True
            self.member('"' + quoted(text))
        else:
            self.out.arguments(quoted(text))

    def end_text(self) -> None:
        """Close the string value, which may have had no text."""
        if not self.quoting:
            self.text("")
        self.quoting = False
        self.out.arguments('"')

    def end(self) -> None:
        """Close the object, and what is open in it."""
        if self.quoting:
            self.end_text()
        self.out.arguments("}" if self.members else "{}")
