"""What did not come back, and whose fault that is."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from renderlayer.parsers import Answer, Call, ParserNames
from renderlayer.roundtrip.conversations import Said
from renderlayer.roundtrip.markup import unreadable
from renderlayer.roundtrip.turns import Turn, Writer

Json = dict[str, Any]
Part = Literal["calls", "content", "reasoning"]
By = Literal["template", "parser"]

_TEXTS: tuple[Part, ...] = ("content", "reasoning")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


class Loss(NamedTuple):
    """What did not come back of a turn.

    Attributes:
        lost: calls, or 1.
        by: the template does not write it so that it could be read, or the parser misreads it.
    """

    part: Part
    case: str
    lost: int
    by: By
    reason: str


def losses(turn: Turn, answer: Answer, writer: Writer, names: ParserNames) -> list[Loss]:
    """What is missing in `answer`, which the parsers of these names gave; white space around texts aside."""
    said, found = turn.said, list[Loss]()
    missing = len(said.calls) - came_back(said, answer)
    if missing:
        found.append(Loss("calls", said.case, missing, *_fault(turn, answer, writer, names)))
    for part in _TEXTS:
        wanted: str = getattr(said, part)
        if wanted.strip() == (getattr(answer, part) or "").strip():
            continue
        if wanted and wanted.strip() not in turn.text:
            found.append(Loss(part, said.case, 1, "template", "not written into the history"))
        elif repr([{"type": "text", "text": wanted}]) in turn.text:
            found.append(Loss(part, said.case, 1, "template", "written as a list of parts"))
        else:  # with a call that breaks off, its rest becomes text
            found.append(Loss(part, said.case, 1, found[0].by if found else "parser", ""))
    return found


def came_back(said: Said, answer: Answer) -> int:
    """How many calls came back; none does when there are more than were made."""
    if len(answer.calls) > len(said.calls):
        return 0
    return sum(_same(call, made) for call, made in zip(answer.calls, said.calls, strict=False))


def _same(call: Call, made: tuple[str, Json]) -> bool:
    return call.name == made[0] and _typed(arguments_of(call)) == _typed(made[1])


def arguments_of(call: Call) -> Any:
    """The arguments as a value; None for what is no JSON."""
    try:
        return json.loads(call.arguments)
    except ValueError:
        return None


def _typed(value: Any) -> Any:
    """The value with its types, since 1, 1.0 and true are equal in Python."""
    if isinstance(value, dict):
        return {key: _typed(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_typed(member) for member in value]
    return type(value).__name__, value


def _fault(turn: Turn, answer: Answer, writer: Writer, names: ParserNames) -> tuple[By, str]:
    said = turn.said
    made = [name for name, _ in said.calls]
    if any(turn.text.count(name) < made.count(name) for name in made):
        return "template", "not written into the history"
    for string in _strings(said):
        if reason := unreadable(names, string, turn.text):
            return "template", reason
    if len(answer.calls) != len(said.calls):
        return "parser", f"{len(answer.calls)} of {len(said.calls)} calls found"
    read = [(call.name, arguments_of(call)) for call in answer.calls]
    if all(_fits(name, arguments, writer.tools) for name, arguments in read):
        again = Said(said.case, said.reasoning, said.content, tuple(read))
        if writer.history(again, turn.kwargs) == writer.history(said, turn.kwargs):
            return "template", f"{_shown(read)} is written alike"
    return "parser", f"{_shown(read)} was read"


def _shown(read: list[tuple[str, Any]]) -> str:
    return json.dumps(read[0][1] if len(read) == 1 else [value for _, value in read], ensure_ascii=False)[:80]


def _strings(said: Said) -> list[str]:
    return [value for _, arguments in said.calls for value in arguments.values() if isinstance(value, str)]


def _fits(name: str, arguments: Any, tools: list[Json]) -> bool:
    """Whether the function takes these arguments, which its tool describes."""
    tool = next((tool["function"] for tool in tools if tool["function"]["name"] == name), None)
    if tool is None or not isinstance(arguments, dict):
        return False
    known = tool["parameters"]["properties"]
    return all(key in known and _is(value, known[key].get("type")) for key, value in arguments.items())


def _is(value: Any, kind: str | None) -> bool:
    if kind is None:
        return True
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
