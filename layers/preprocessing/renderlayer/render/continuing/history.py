"""The proof that ids hold a conversation: what is written around the assistant's turns is in their text, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from renderlayer.render.continuing.refusal import NOT_THE_HISTORY, NotExtended
from renderlayer.render.continuing.stand_ins import CALL, CONTENT, Span
from renderlayer.render.continuing.thoughts import has_thought
from renderlayer.render.continuing.turn_end import turn_end
from renderlayer.render.continuing.writing import Writer

Json = dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """What is written before a turn of the assistant, from the end of the turn before it.

    Attributes:
        text: from the first message that follows the turn before.
        sure: characters of it that end with the last message; what follows them opens the turn, and may be written
            otherwise in a prompt than in a history.
    """

    text: str
    sure: int

    @property
    def messages(self) -> str:
        return self.text[: self.sure]


def pieces_of(text: str, spans: Sequence[Span], messages: Sequence[Json], writer: Writer, ends: bool) -> list[Piece]:
    """The pieces before the turns of `spans`; `ends`: and the one behind the last of them.

    Args:
        messages: those that were written.

    Raises:
        NotExtended: nobody can say where a message begins.
    """
    turns = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    starts = [0, *(span.end for span in spans)]
    stops = [*(span.start for span in spans), *([len(text)] if ends else [])]
    places = [*turns[: len(spans)], *([len(messages)] if ends else [])]
    return [
        _piece(text[start:stop], messages, places, number, spans, writer)
        for number, (start, stop) in enumerate(zip(starts, stops, strict=False))
    ]


def end_of_last(text: str, last: Span, messages: Sequence[Json], writer: Writer) -> int | None:
    """Where the last of the messages that follow the last turn ends in a text; None: nobody can say."""
    of_call = CALL in last.kinds
    end = turn_end(writer, CALL if of_call else CONTENT, messages[0]["role"])
    start = end.start_of_next(text[last.end :], of_call)
    if start is None:
        return None
    piece = text[last.end + start :]
    return last.end + start + (_end_of_messages(piece, messages) or _end_of_closed(piece, writer))


def _piece(
    text: str, messages: Sequence[Json], places: Sequence[int], number: int, spans: Sequence[Span], writer: Writer
) -> Piece:
    first = places[number - 1] + 1 if number else 0
    between = messages[first : places[number]]
    if number and between:
        end = turn_end(writer, CALL if CALL in spans[number - 1].kinds else CONTENT, between[0]["role"])
        start = end.start_of_next(text, CALL in spans[number - 1].kinds)
        if start is None:
            raise NotExtended("nobody can say where a turn of the assistant ends in this template")
        text = text[start:]
    sure = _end_of_messages(text, between)
    return Piece(text, sure or _end_of_closed(text, writer))


def _end_of_messages(text: str, messages: Sequence[Json]) -> int:
    """Where the last message's own text ends at the earliest: messages are looked for one behind the other.

    Those that say nothing, or are not written as they stand, are passed over.
    """
    end = 0
    for message in messages:
        said = _said(message).strip()
        at, length = text.find(said, end), len(said)
        if at < 0:
            word = _last_word(said)
            at, length = text.find(word, end) if word else -1, len(word)
        if said and at >= 0:
            end = at + length
    return end


def _last_word(text: str) -> str:
    end = len(text)
    while end and not _in_word(text[end - 1]):
        end -= 1
    start = end
    while start and _in_word(text[start - 1]):
        start -= 1
    return text[start:end]


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _end_of_closed(text: str, writer: Writer) -> int:
    """Where the first closing token ends, if there is one; the text's end else."""
    ends = [at + len(stop) for stop in writer.stops if (at := text.find(stop)) >= 0]
    return min(ends, default=len(text))


def _said(message: Json) -> str:
    """The last text of a message."""
    content = message.get("content")
    if isinstance(content, list):
        content = next((part["text"] for part in reversed(content) if isinstance(part, dict) and "text" in part), "")
    return content if isinstance(content, str) else ""


@dataclass(frozen=True)
class Turn:
    """A turn of the assistant in the text of ids.

    Attributes:
        text: from where the history and the ids begin to differ.
        whole: with what opens it.
    """

    text: str
    whole: str


def turns_within(prompt: str, pieces: Sequence[Piece], writer: Writer) -> list[Turn]:
    """The turns between the pieces of a history, the last of which ends the prompt.

    Args:
        prompt: text of the ids.

    Raises:
        NotExtended: the prompt is not of this history.
    """
    turns: list[Turn] = []
    at = opened = 0
    for number, piece in enumerate(pieces[:-1]):
        start, length = _found(prompt, at, piece.messages, writer, first=number == 0)
        if number:
            turns.append(Turn(prompt[at:start], prompt[opened:start]))
        at = opened = start + length
        at += _common(piece.text[piece.sure :], prompt[at : at + len(piece.text)])
    last = pieces[-1].text
    if not prompt.endswith(last):
        last = writer.normal(last)
    start = len(prompt) - len(last)
    if not prompt.endswith(last) or start < at or (len(pieces) == 1 and start):
        raise NotExtended(NOT_THE_HISTORY)
    if len(pieces) > 1:
        turns.append(Turn(prompt[at:start], prompt[opened:start]))
    return turns


def _found(prompt: str, at: int, text: str, writer: Writer, first: bool) -> tuple[int, int]:
    """Place and length of a piece; it is looked for as it stands, and as the tokenizer's normalisers make it."""
    for normal in (False, True):
        piece = writer.normal(text) if normal else text
        start = prompt.find(piece, at) if not first else (0 if prompt.startswith(piece) else -1)
        if start >= 0:
            return start, len(piece)
    raise NotExtended(NOT_THE_HISTORY)


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def check_one_turn(text: str, writer: Writer) -> None:
    """Refuse a text with a stop token in its midst: there is more in it than one turn.

    Raises:
        NotExtended: there is.
    """
    for stop in writer.stops:
        if stop in text.removesuffix(stop):
            raise NotExtended(NOT_THE_HISTORY)


def check_said(message: Json, span: Span, text: str, writer: Writer) -> None:
    """Refuse a message that says something that the template writes and that is not in its turn's text.

    Args:
        span: of its stand-in.

    Raises:
        NotExtended: it was changed.
    """
    content = message.get("content") if CONTENT in span.kinds else None
    parts = content if isinstance(content, list) else [content]
    said = [part.get("text") if isinstance(part, dict) else part for part in parts]
    said += [call["function"]["name"] for call in message.get("tool_calls") or () if CALL in span.kinds]
    for entry in said:
        if not isinstance(entry, str) or entry.strip() in text or "\ufffd" in text:
            continue
        if writer.normal(entry).strip() not in text:
            raise NotExtended("a message of the assistant says what is not in the ids")


def check_turn(message: Json, span: Span, turn: Turn, writer: Writer) -> bool:
    """Whether a turn of the ids has reasoning.

    Raises:
        NotExtended: it is not one turn, or not its message's.
    """
    check_one_turn(turn.text, writer)
    check_said(message, span, turn.whole, writer)
    return has_thought(turn.text) or _reasoning(message) in turn.text


def _reasoning(message: Json) -> str:
    """The reasoning that a message names; what is in no text where it names none."""
    named = message.get("reasoning") or message.get("reasoning_content")
    return named.strip() or "\0" if isinstance(named, str) else "\0"
