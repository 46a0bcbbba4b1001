"""The text of a `tool_calls` field → calls, as it comes: one machine a kind of content."""

from __future__ import annotations

import re
from typing import ClassVar

from renderlayer.parsers.core.emitter import Emitter
from renderlayer.parsers.core.markers import SpecialTokenMap
from renderlayer.parsers.core.resumable import HOLD_LIMIT, PhaseMachine
from renderlayer.parsers.core.tool_machine import ToolTypes
from renderlayer.parsers.response_template.calls import CallFormat
from renderlayer.parsers.response_template.json_value import JsonValue
from renderlayer.parsers.tool_calls.python_calls import PythonCalls, PythonCallsMachine
from renderlayer.parsers.values.arguments import ArgumentsWriter
from renderlayer.parsers.values.headers import Failed, read_object
from renderlayer.parsers.values.json_object import JsonReader, Proof
from renderlayer.parsers.values.json_scan import JsonScan
from renderlayer.parsers.values.schema import may_nest, to_json

_BETWEEN = re.compile(r"[\s,\[\]]*+")
_PYTHON = PythonCalls(bare=True)


class Body(PhaseMachine):
    """Reads one field's text; what is no call is dropped.

    Memory, besides the frame's: the name of the call at hand.
    """

    memory: ClassVar[tuple[str, ...]] = (*PhaseMachine.memory, "name")

    def __init__(self, form: CallFormat, out: Emitter, types: ToolTypes, name: str) -> None:
        super().__init__()
        self.form = form
        self.out = out
        self.types = types
        self.name = name[:HOLD_LIMIT]

    def over(self) -> bool:
        """Phase: no call will come."""
        self.position = len(self.text)
        return False


class JsonBody(Body):
    """Calls as JSON objects, or the arguments of the call that the opener names.

    Phases: seek → arguments → (tail, in the object that holds them → seek) | over.
    """

    memory: ClassVar[tuple[str, ...]] = (*Body.memory, "value", "scan", "proof")
    phases: ClassVar[tuple[str, ...]] = ("seek", "arguments", "tail", "over")

    def __init__(self, form: CallFormat, out: Emitter, types: ToolTypes, name: str) -> None:
        super().__init__(form, out, types, name)
        self.value = JsonValue(form)
        self.scan = JsonScan()
        self.proof = Proof()

    def seek(self) -> bool:
        """Phase: before a call."""
        between = _BETWEEN.match(self.text, self.position)
        self.position = between.end() if between else self.position
        if self.position == len(self.text):
            return False
        if self.text[self.position] != "{":
            self.phase = "over"
        elif self.form.capture:
            self._begin(self.name)
        else:
            return self._read_call()
        return True

    def _read_call(self) -> bool:
        stop = min(len(self.text), self.position + HOLD_LIMIT)
        names, arguments = (self.form.name,), (self.form.arguments,)
        call = read_object(self.text, self.position, stop, names, arguments, bare_call=False)
        if call is None and stop - self.position < HOLD_LIMIT:
            return False
        if call is None or isinstance(call, Failed):
            self.phase = "over"
            return True
        self._begin(call.name)
        if call.arguments is not None:
            self.out.arguments(
                self.proof.add(self.value.convert(call.arguments, 0, True, self.types.get(self.name, {}))[0])
            )
            self._end("seek" if call.closed else "tail")
        self.position = call.end
        return True

    def _begin(self, name: str) -> None:
        self.phase = "arguments" if name else "over"
        self.name = name[:HOLD_LIMIT]
        if name:
            self.out.start(name)
        self.value.reset()
        self.proof.reset()

    def arguments(self) -> bool:
        """Phase: in a call's arguments."""
        types = self.types.get(self.name, {})
        json_text, self.position, complete = self.value.convert(self.text, self.position, self.final, types)
        self.out.arguments(self.proof.add(json_text))
        if complete:
            self._end("over" if self.form.capture else "tail")
        return complete

    def _end(self, phase: str) -> None:
        self.out.arguments(self.proof.close())
        self.phase = phase
        self.scan.reset(depth=1)

    def feed(self, text: str, final: bool = False) -> None:
        super().feed(text, final)
        if final and self.phase == "arguments":
            self._end("over")

    def tail(self) -> bool:
        """Phase: after the arguments, in the object that holds them."""
        end = self.scan.end(self.text, self.position, len(self.text))
        self.position = end if end >= 0 else len(self.text)
        self.phase = "seek" if end >= 0 else "tail"
        return end >= 0


class TagBody(Body):
    """A call whose arguments stand between delimiters.

    Phases: begin → members → lead → value | text | nested → members → …; all that is open is closed at the end.
    """

    memory: ClassVar[tuple[str, ...]] = (*Body.memory, "writer", "letters", "given")
    phases: ClassVar[tuple[str, ...]] = ("begin", "members", "lead", "value", "string", "nested", "over")

    def __init__(self, form: CallFormat, out: Emitter, types: ToolTypes, name: str) -> None:
        super().__init__(form, out, types, name)
        self.writer = ArgumentsWriter(out)
        self.given = JsonReader()
        self.letters = ""

    def begin(self) -> bool:
        """Phase: behind the field's opener."""
        self.phase = "members" if self.name else "over"
        if self.name:
            self.out.start(self.name)
        return True

    def members(self) -> bool:
        """Phase: between arguments."""
        found = self.form.keys.find(self.text, self.position, self.final)
        if isinstance(found, int):
            self.position = found
            return False
        self.position = found.match.end()
        self.writer.key = found.match["key"]
        letters = self.form.letters + self.types.get(self.name, {}).get(self.writer.key, "")
        self.letters = "" if letters == "s" else letters
        self.phase = "lead"
        return True

    def lead(self) -> bool:
        """Phase: before a value."""
        if self.position == len(self.text):
            return False
        if self.form.strips and self.text[self.position].isspace():
            end, closed = self._value_end()
            while self.position < end and self.text[self.position].isspace():
                self.position += 1
            if self.position == end and not closed:
                return False
        self.phase = "value" if self.letters else "string"
        return True

    def _value_end(self) -> tuple[int, re.Match[str] | None]:
        """How far the value goes, and what ends it there if that has come."""
        found = self.form.ends.find(self.text, self.position, self.final)
        if isinstance(found, int):
            return (self.form.ends.cut(self.text, self.position) if self.final else found), None
        return found.match.start(), found.match

    def value(self) -> bool:
        """Phase: in a value of a type that shows only when all of it is there."""
        start = self.position
        end, closed = self._value_end()
        if end - start > HOLD_LIMIT:
            self.phase = (
                "nested"
                if self.given.begins(self.text, start, end) and may_nest(self.text[start:end], self.letters)
                else "string"
            )
            if self.phase == "nested":
                self.writer.member("")
            return True
        if closed is None:
            return False
        text = self.text[start:end]
        self.writer.member(to_json(text.strip() if self.form.strips else text, self.letters, whole=True))
        return self._end_value(closed)

    def string(self) -> bool:
        """Phase: in a string, which is given out as it grows."""
        end, closed = self._value_end()
        kept = end
        if self.form.strips:
            window = self.text[max(self.position, end - HOLD_LIMIT) : end]
            kept -= len(window) - len(window.rstrip())
        if kept > self.position:
            self.writer.text(self.text[self.position : kept])
        self.position = kept
        if closed is None:
            return False
        self.writer.end_text()
        return self._end_value(closed)

    def nested(self) -> bool:
        """Phase: in an object or array that is too long to wait for; where it does not go on as JSON it is closed."""
        end, closed = self._value_end()
        written: list[str] = []
        self.position, status = self.given.read(self.text, self.position, end, closed is not None, written)
        if status == "broken" or (closed is not None and status == "more"):
            written.append(self.given.closing())
        self.out.arguments("".join(written))
        if closed is not None:
            return self._end_value(closed)
        if status != "more":
            self.phase = "members"
        return status != "more"

    def _end_value(self, closed: re.Match[str]) -> bool:
        self.position = closed.end()
        self.phase = "members"
        return True

    def feed(self, text: str, final: bool = False) -> None:
        super().feed(text, final)
        if not final:
            return
        if self.phase == "nested":
            self.out.arguments(self.given.closing())
        if self.phase not in ("begin", "over"):
            self.writer.end()


class PythonBody(PythonCallsMachine):
    """A list of calls in Python's notation."""

    def __init__(self, out: Emitter, alphabet: SpecialTokenMap) -> None:
        super().__init__(_PYTHON, out, alphabet)

    def queue(self, end: int) -> None:
        """No text is content."""
        self.position = end


def open_body(form: CallFormat, out: Emitter, alphabet: SpecialTokenMap, types: ToolTypes, name: str) -> PhaseMachine:
    """The machine for the text behind an opener that names the call, or not."""
    if form.kind == "python":
        return PythonBody(out, alphabet)
    machine = JsonBody if form.kind == "json" else TagBody
    return machine(form, out, types, name)
