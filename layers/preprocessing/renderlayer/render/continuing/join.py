"""Token ids of what follows given ids, as they would be if all of it were tokenized at once."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.bundle.tokenizer import Tokenizer
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.stand_ins import CALL, CONTENT, Span
from renderlayer.render.continuing.turn_end import turn_end
from renderlayer.render.continuing.writing import Writer, Writing
from renderlayer.wire.generate import ContinueFrom

_TAIL = 16
"""Tokens before the join that are tokenized along with what follows."""


def suffix_of(given: ContinueFrom, now: Writing, last: Span, following: str, writer: Writer) -> list[int]:
    """Token ids from the token that ends the sampled turn on, or from behind it where it was sampled.

    Raises:
        NotExtended: nobody can say where the turn ends, or the tokenizer merges over the join.
    """
    kind = CALL if CALL in last.kinds else CONTENT
    end = turn_end(writer, kind, following)
    rest = now.text[last.end :]
    sampled = given.output_token_ids[-1] if given.output_token_ids else None
    stopped = sampled in writer.stops.values() or (end.closer and sampled == writer.id_of(end.closer))
    if end.closer:
        at = end.find(rest, kind == CALL)
        if at is None:
            raise NotExtended("nobody can say where the sampled turn ends in this template")
        start = at
        if stopped:
            assert sampled is not None
            if not end.own and writer.text([sampled]) != end.closer:
                raise NotExtended(
                    f"the output ends with {writer.text([sampled])}, and the template goes on with {end.closer}"
                )
            start += len(end.closer)
        elif kind == CONTENT:
            start = 0
    elif kind == CALL:
        raise NotExtended("the template closes calls with no token")
    else:
        start = 0
    if now.ids is not None:
        if not (end.closer or writer.server.model.facts.renderer):
            raise NotExtended("the template ends turns with no token, and there are media")
        return _ids_from(now.ids, last.end + start, writer)
    ids = [*given.prompt_token_ids[-_TAIL:], *given.output_token_ids]
    return _joined(ids, rest[start:], writer.server.model.tokenizer)


def _joined(given: Sequence[int], suffix: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of `suffix` behind `given`.

    Behind a token over which the tokenizer never merges (proved while packing), and from one on, a text has the ids
    that it has alone. Elsewhere the last tokens are spelled and tokenized with what follows.

    Raises:
        NotExtended: the tokenizer would merge across the join.
    """
    if not suffix:
        return []
    last = given[-1]
    if last in tokenizer.right_boundaries:
        anchor = tokenizer.decode([last], skip_special_tokens=False)
        ids = tokenizer.encode(anchor + suffix)
        if ids[0] == last:
            return ids[1:]
    ids = tokenizer.encode(suffix)
    if ids[0] in tokenizer.boundaries:
        return ids
    tail = tokenizer.decode(given[-_TAIL:], skip_special_tokens=False)
    alone, joined = tokenizer.encode(tail), tokenizer.encode(tail + suffix)
    if joined[: len(alone)] != alone:
        raise NotExtended("the tokenizer would merge the last sampled token with what follows")
    return joined[len(alone) :]


def _ids_from(ids: list[int], start: int, writer: Writer) -> list[int]:
    """The ids behind `start` characters of their text.

    Raises:
        NotExtended: no token begins there.
    """
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        if len(writer.text(ids[:middle])) < start:
            low = middle + 1
        else:
            high = middle
    if len(writer.text(ids[:low])) != start:
        raise NotExtended("the tokenizer merges over the end of the sampled turn")
    return ids[low:]
