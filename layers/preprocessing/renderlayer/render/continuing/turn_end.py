"""What ends a turn of the assistant: the scaffold behind its text, and the token at which an engine stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.stand_ins import CALL, CONTENT
from renderlayer.render.continuing.writing import Writer
from renderlayer.served_model import ServedModel

Json = dict[str, Any]
_MARK, _NEXT, _USER = "zqsaidqz", "zqnextqz", "Go ahead."
_KEPT = 512


@dataclass(frozen=True)
class TurnEnd:
    """The end of a turn.

    Attributes:
        before: what the template writes between the turn's last text and the closing token.
        closer: the closing token's text; "" where the template writes none.
        own: whether it belongs to the turn; else it opens the next message (GLM).
    """

    before: str
    closer: str
    own: bool

    def start_of_next(self, piece: str, of_call: bool) -> int | None:
        """Where in `piece`, which begins behind a turn's last mark, the next message begins; None: nobody can say."""
        if not self.closer:
            return None if of_call else 0
        at = self.find(piece, of_call)
        return None if at is None else at + (len(self.closer) if self.own else 0)

    def find(self, piece: str, of_call: bool) -> int | None:
        """Where in `piece` the closing token is; behind a call, whose id may stand before it, it is the first one."""
        at = piece.find(self.closer)
        return at if at >= 0 and (of_call or piece[:at] == self.before) else None


def turn_end(writer: Writer, kind: str, following: str) -> TurnEnd:
    """How a turn ends before a message of the role `following`; found with a conversation of three messages.

    Args:
        kind: `CONTENT` or `CALL`: what the turn ends with.

    Raises:
        NotExtended: the template does not write such a conversation.
    """
    known = writer.server.derived(_known)
    key = (writer.template_key, kind, following)
    if key not in known:
        if len(known) >= _KEPT:
            known.clear()
        known[key] = _found(writer, kind, following)
    return known[key]


def _known(server: ServedModel) -> dict[Any, TurnEnd]:
    return {}


def _found(writer: Writer, kind: str, following: str) -> TurnEnd:
    between = _between(writer, kind, following)
    closer = _first(between, list(writer.stops))
    if not closer:  # what closes content is a token, if it is any
        plain = between if kind == CONTENT else _between(writer, CONTENT, "user")
        closer = _first(plain, list(writer.server.model.vocabulary.added))
        closer = closer if closer in between else ""
    if not closer:
        return TurnEnd(between, "", False)
    return TurnEnd(between.partition(closer)[0], closer, closer in _alone(writer, kind))


def _first(text: str, candidates: list[str]) -> str:
    """The candidate that comes first in the text, the longest of those; "" for none."""
    found = [(text.find(entry), -len(entry), entry) for entry in candidates if entry in text]
    return min(found)[2] if found else ""


def _between(writer: Writer, kind: str, following: str) -> str:
    """What stands between the turn's text and that of the next message."""
    after: Json = {"role": following, "content": _NEXT}
    if following == "tool":
        after |= {"tool_call_id": "call00000", "name": "ping"}
    text = _written(writer, [{"role": "user", "content": _USER}, *_turns(kind, following), after])
    between, found, _ = text.rpartition(_MARK)[2].partition(_NEXT)
    if not found or _MARK not in text:
        raise NotExtended(f"the template does not write what follows a turn of the assistant ({following})")
    return between


def _turns(kind: str, following: str) -> list[Json]:
    said: Json = {"role": "assistant", "content": _MARK}
    if kind == CONTENT and following != "tool":
        return [said]
    argument = _MARK if kind == CALL else "Oslo"
    function = {"name": "ping", "arguments": f'{{"text": "{argument}"}}'}
    calls = {"tool_calls": [{"id": "call00000", "type": "function", "function": function}]}
    return [{**said, **({} if kind == CONTENT else {"content": None}), **calls}]


def _alone(writer: Writer, kind: str) -> str:
    """What the template writes behind the turn where nothing follows."""
    try:
        text = _written(writer, [{"role": "user", "content": _USER}, *_turns(kind, "")])
    except NotExtended:
        return ""
    return text.rpartition(_MARK)[2]


def _written(writer: Writer, messages: list[Json]) -> str:
    """Some templates want a content beside calls, Kimi's a name in the call's id, and some take no calls."""
    error = NotExtended("")
    forms = [
        [_in_form(message, content, call_id) for message in messages]
        for content, call_id in ((None, ""), ("", ""), (None, "functions.ping:0"))
    ]
    forms.append([{key: value for key, value in message.items() if key != "tool_calls"} for message in messages])
    for form in forms:
        try:
            return writer.write(form, generate=False).text
        except NotExtended as refused:
            error = error if error.args[0] else refused
    raise error


def _in_form(message: Json, content: str | None, call_id: str) -> Json:
    if "tool_calls" in message:
        calls = [{**call, "id": call_id or call["id"]} for call in message["tool_calls"]]
        return {**message, "content": message["content"] or content, "tool_calls": calls}
    return {**message, "tool_call_id": call_id} if call_id and "tool_call_id" in message else message


__all__ = ["CALL", "CONTENT", "TurnEnd", "turn_end"]
