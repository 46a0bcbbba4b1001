"""The next turn on a prompt that was extended here: what is proved of it stays so, and only what is new is looked at.

The template writes the new messages behind a shorter conversation, where one is known to stand for the whole
(`windows`), and else behind all of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from renderlayer.render.continuing.history import Turn, check_turn, end_of_last
from renderlayer.render.continuing.join import suffix_of
from renderlayer.render.continuing.proofs import Extension, Proof, Window, proofs
from renderlayer.render.continuing.refusal import DROPPED, NotExtended
from renderlayer.render.continuing.stand_ins import MARKS, REASONING, Form, Span, stand_in
from renderlayer.render.continuing.windows import GROWN, Windows, shape_of, turns_of, window_of, windows
from renderlayer.render.continuing.writing import Writer, Writing
from renderlayer.wire.generate import ContinueFrom

Json = dict[str, Any]


@dataclass(frozen=True)
class _Turn:
    """The sampled turn and what follows it, written behind a conversation.

    Attributes:
        behind: that conversation.
        now: with the turn and what follows.
        span: of the turn's stand-in.
        thought: whether the turn has reasoning in the ids.
    """

    behind: Window
    now: Writing
    span: Span
    thought: bool

    @property
    def written(self) -> str:
        """What the template writes from the end of the conversation's last message on."""
        return self.now.text[self.behind.sure :]


def again(given: ContinueFrom, messages: Sequence[Json], proof: Proof, writer: Writer) -> Extension | None:
    """The extension, where the ids are known to hold the messages before; None where all has to be looked at.

    Raises:
        NotExtended: the sampled turn is not one, or reasoning would be dropped.
    """
    added = [stand_in(messages[given.messages - 1], len(proof.thoughts), MARKS, proof.form)]
    added += messages[given.messages :]
    known = writer.server.derived(windows)
    words = known.words(writer)
    shape, kinds, turn = None, proof.kinds, None
    if words is not None:
        shape = shape_of(added, words)
        kinds = kinds if shape in kinds else kinds | {shape}
        turn = _in_short(given, messages, added, kinds, proof, writer, known)
    if turn is None:
        turn = _written(proof.whole, given, messages, added, proof, writer)
        if turn is None:
            return None
        if _drops(turn, given, proof):
            raise NotExtended(DROPPED)
    suffix = suffix_of(given, turn.now, turn.span, messages[given.messages]["role"], writer)
    sure = end_of_last(turn.now.text, turn.span, messages[given.messages :], writer)
    ids = proof.ids + array("I", given.output_token_ids) + array("I", suffix)
    if writer.generates and sure is not None:
        reasons = REASONING in turn.span.kinds or not turn.thought
        proof = Proof(
            ids,
            list(messages),
            _grown(proof.whole, turn, added, shape, sure),
            writer.tools,
            proof.form,
            [*proof.thoughts, turn.thought],
            proof.kept and reasons,
            None if turn.behind is proof.whole else _grown(turn.behind, turn, added, shape, sure),
            kinds,
        )
        writer.server.derived(proofs).keep(proof, writer)
    return Extension(suffix, ids)


def _in_short(
    given: ContinueFrom,
    messages: Sequence[Json],
    added: Sequence[Json],
    kinds: frozenset[Any],
    proof: Proof,
    writer: Writer,
    known: Windows,
) -> _Turn | None:
    """The turn behind a shorter conversation; None where none is known to stand for the whole."""
    words = known.words(writer)
    short = None if words is None else _short(proof, writer, words.modulus)
    if short is None:
        return None
    try:
        turn = _written(short, given, messages, added, proof, writer)
        if turn is None or _drops(turn, given, proof):
            return None
        turns = len(proof.thoughts) + 1
        if known.is_due(turns, kinds, writer):
            whole = _written(proof.whole, given, messages, added, proof, writer)
            if whole is None or whole.written != turn.written:
                known.fails(writer)
                return None
            known.holds(turns, kinds, writer)
    except NotExtended:  # which is for the whole conversation to say
        return None
    return turn


def _short(proof: Proof, writer: Writer, modulus: int) -> Window | None:
    """The window of the turn before, or another where that has grown, or where there is none."""
    short = proof.short
    if short is not None and short.grown < GROWN:
        return short
    long = short or proof.whole
    found = window_of(long.shown, long.shapes, modulus)
    if found is None:
        return short
    try:
        text = writer.write(found[0], generate=writer.generates).text
    except NotExtended:
        return short
    if text[MARKS.end(text) :] != long.text[MARKS.end(long.text) :]:
        return short
    return Window(found[0], text, len(text) - (len(long.text) - long.sure), found[1])


def _written(
    behind: Window, given: ContinueFrom, messages: Sequence[Json], added: Sequence[Json], proof: Proof, writer: Writer
) -> _Turn | None:
    """The turn and what follows it behind a conversation; None where that is not written as it was.

    Raises:
        NotExtended: the template refuses it, or the ids hold more than the turn or another.
    """
    now = writer.write([*behind.shown, *added], generate=writer.generates, known=len(behind.shown) + 1)
    if now.ids is not None or not now.text.startswith(behind.text[: behind.sure]):
        return None
    span = MARKS.last_span(now.text, len(proof.thoughts), behind.sure)
    if span is None:
        return None
    sampled = writer.text(given.output_token_ids)
    return _Turn(behind, now, span, check_turn(messages[given.messages - 1], span, Turn(sampled, sampled), writer))


def _drops(turn: _Turn, given: ContinueFrom, proof: Proof) -> bool:
    """Whether the template drops reasoning that is in the ids, and the request lets it."""
    if given.history == "keep":
        return False
    return not proof.kept or (turn.thought and REASONING not in turn.span.kinds)


def _grown(old: Window, turn: _Turn, added: Sequence[Json], shape: Any, sure: int) -> Window:
    """A conversation with the turn and what follows it."""
    length = old.sure + sure - turn.behind.sure
    text = turn.now.text if old is turn.behind else old.text[: old.sure] + turn.written
    return Window([*old.shown, *added], text, length, (*old.shapes, shape), old.grown + 1)


def remember(
    given: ContinueFrom,
    ids: array[int],
    messages: Sequence[Json],
    shown: list[Json],
    form: Form,
    text: str,
    last: Span,
    thoughts: list[bool],
    writer: Writer,
) -> None:
    """Keep the proof of a prompt that was looked at as a whole, for the turn that follows it."""
    sure = end_of_last(text, last, messages[given.messages :], writer)
    if not writer.generates or sure is None:
        return
    words = writer.server.derived(windows).words(writer)
    turns = [*turns_of(shown), len(shown)]
    shapes = () if words is None else tuple(shape_of(shown[start:end], words) for start, end in pairwise(turns))
    kept = all(not thought or MARKS.mark(REASONING, at) in text for at, thought in enumerate(thoughts))
    proof = Proof(
        ids,
        list(messages),
        Window(shown, text, sure, shapes),
        writer.tools,
        form,
        thoughts,
        kept,
        None,
        frozenset(shapes),
    )
    writer.server.derived(proofs).keep(proof, writer)
