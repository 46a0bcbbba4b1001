"""A request with `continue_from`: its prompt extended, or rendered anew with a reason (docs/wire.md 2.10)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from renderlayer.errors import BadRequest, Conflict
from renderlayer.render.continuing.again import again, remember
from renderlayer.render.continuing.history import (
    Turn,
    check_turn,
    pieces_of,
    turns_within,
)
from renderlayer.render.continuing.join import suffix_of
from renderlayer.render.continuing.prefixes import prefix_of
from renderlayer.render.continuing.proofs import Extension, proofs
from renderlayer.render.continuing.refusal import DROPPED, REWRITTEN, NotExtended
from renderlayer.render.continuing.stand_ins import (
    MARKS,
    REASONING,
    Form,
    Span,
    with_stand_ins,
)
from renderlayer.render.continuing.writing import Writer, Writing
from renderlayer.render.types import Prompt
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.generate import ContinueFrom

if TYPE_CHECKING:
    from renderlayer.wire.answers import Continuation

Json = dict[str, Any]
FIELD = "continue_from"


def continued(
    request: ChatCompletionRequest, writer: Writer, render: Callable[[], Prompt], appended_only: bool = False
) -> tuple[Prompt, Continuation]:
    """The prompt of a request with `continue_from`.

    Args:
        writer: of the request.
        render: renders the whole conversation anew.
        appended_only: of an extended prompt only what was appended is answered; its ids are packed.

    Returns:
        The prompt, whose ids nobody may change, and the answer's `continuation` object.

    Raises:
        BadRequest: the field does not fit the messages.
        Conflict: the prompt cannot be extended, and nothing else will do.
    """
    given = request.continue_from
    assert given is not None
    if not 1 <= given.messages <= len(request.messages):
        raise BadRequest(
            f"{FIELD}.messages must be between 1 and the number of messages.", f"{FIELD}.messages", given.messages
        )
    try:
        if given.prefix is not None:
            prompt_ids, output = prefix_of(given.prefix, writer.server)
            if given.output_token_ids:
                prompt_ids, output = prompt_ids + output, array("I", given.output_token_ids)
            given = given.model_copy(update={"prompt_token_ids": prompt_ids, "output_token_ids": output.tolist()})
        kept = len(given.prompt_token_ids) + len(given.output_token_ids)
        _check_request(request, given, writer.server)
        found = extension(given, request.messages, writer)
        if len(found.ids) > writer.server.max_model_len:
            raise NotExtended("the extended prompt is longer than the context")
    except NotExtended as refused:
        reason = str(refused)
        if given.require:
            raise Conflict(f"{FIELD}: the prompt cannot be extended: {reason}.", FIELD) from refused
        prompt = render()
        kept = _common([*given.prompt_token_ids, *given.output_token_ids], prompt.token_ids)
        return prompt, _told("rendered", reason, kept, len(prompt.token_ids) - kept)
    calls = sum(len(message.get("tool_calls") or ()) for message in request.messages)
    whole = found.ids if appended_only else [*given.prompt_token_ids, *given.output_token_ids, *found.suffix]
    prompt = Prompt(whole, features=found.features, history_tool_calls=calls)
    return prompt, _told("extended", None, kept, len(found.suffix))


def _told(mode: Literal["extended", "rendered"], reason: str | None, kept: int, appended: int) -> Continuation:
    return {"mode": mode, "reason": reason, "kept": kept, "appended": appended}


def _check_request(request: ChatCompletionRequest, given: ContinueFrom, server: ServedModel) -> None:
    """What needs no rendering to be known.

    Raises:
        NotExtended: it cannot be extended.
    """
    roles = [message.get("role", "") for message in request.messages]
    if "" in roles:
        raise NotExtended("messages in harmony's own form are rendered anew")
    if roles[given.messages - 1] != "assistant":
        raise NotExtended("the last of the messages that the ids hold is not the assistant's")
    if len(roles) == given.messages:
        raise NotExtended("there is no new message")
    if "assistant" in roles[given.messages :]:
        raise NotExtended("there is a message of the assistant among the new ones")
    if request.continue_final_message:
        raise NotExtended("continue_final_message continues a message instead")
    if request.truncate_prompt_tokens is not None or request.return_token_offsets:
        raise NotExtended("truncation and token offsets need the whole prompt's text")
    if request.add_special_tokens and server.model.tokenizer.suffix_ids:
        raise NotExtended("the tokenizer puts a token of its own behind every prompt")
    _check_ids(given.output_token_ids, server)


def _check_ids(ids: Sequence[int], server: ServedModel) -> None:
    if ids and not (min(ids) >= 0 and max(ids) < len(server.model.vocabulary)):
        raise NotExtended("there are ids that are not in this model's vocabulary")


def extension(given: ContinueFrom, messages: Sequence[Json], writer: Writer) -> Extension:
    """The given ids, and what belongs behind them.

    Raises:
        NotExtended: they cannot be proved to begin the prompt of `messages`.
    """
    known = given.messages
    proof = writer.server.derived(proofs).find(given.prompt_token_ids, messages[: known - 1], writer)
    if proof is not None:
        found = again(given, messages, proof, writer)
        if found is not None:
            return found
    _check_ids(given.prompt_token_ids, writer.server)
    error = NotExtended("")
    for form in Form:
        shown = with_stand_ins(messages, known, MARKS, form)
        try:
            before = writer.write(shown[: known - 1], generate=True)
            now = writer.write(shown, generate=writer.generates, known=known)
            spans = MARKS.spans(now.text, sum(message["role"] == "assistant" for message in messages[:known]))
        except NotExtended as refused:
            error = refused
            continue
        suffix, thoughts = _extension(given, shown, messages, before, now, spans, writer)
        ids = array("I", [*given.prompt_token_ids, *given.output_token_ids, *suffix])
        if now.ids is None:
            remember(given, ids, messages, shown, form, now.text, spans[-1], thoughts, writer)
        return Extension(suffix, ids, _features(given, suffix, now))
    raise error


def _features(given: ContinueFrom, suffix: Sequence[int], now: Writing) -> Json | None:
    if now.features is None or now.ids is None:
        return None
    from renderlayer.render.continuing.media import placed

    return placed([*given.prompt_token_ids, *given.output_token_ids], len(suffix), now.ids, now.features)


def _extension(
    given: ContinueFrom,
    shown: Sequence[Json],
    messages: Sequence[Json],
    before: Writing,
    now: Writing,
    spans: Sequence[Span],
    writer: Writer,
) -> tuple[list[int], list[bool]]:
    """The suffix, and which turns have reasoning in the ids."""
    known = given.messages
    turns = [message for message in messages[:known] if message["role"] == "assistant"]
    then = pieces_of(before.text, MARKS.spans(before.text, len(turns) - 1), shown[: known - 1], writer, ends=True)
    sampled = writer.text(given.output_token_ids)
    found = [*turns_within(_prompt_text(given, writer), then, writer), Turn(sampled, sampled)]
    thoughts = [check_turn(*turn, writer) for turn in zip(turns, spans, found, strict=True)]
    if given.history != "keep":
        pieces = pieces_of(now.text, spans, shown, writer, ends=False)
        same = all(old.messages == new.messages for old, new in zip(then[:-1], pieces, strict=False))
        if not (same and then[-1].text.startswith(pieces[-1].messages)):
            raise NotExtended(REWRITTEN)
        if any(thought and REASONING not in span.kinds for thought, span in zip(thoughts, spans, strict=True)):
            raise NotExtended(DROPPED)
    return suffix_of(given, now, spans[-1], messages[known]["role"], writer), thoughts


def _prompt_text(given: ContinueFrom, writer: Writer) -> str:
    """Text of the prompt, without what the tokenizer puts before every prompt."""
    ids, prefix = given.prompt_token_ids, writer.server.model.tokenizer.prefix_ids
    if writer.add_special_tokens and prefix and ids[: len(prefix)] == prefix:
        ids = ids[len(prefix) :]
    return writer.text(ids)


def _common(given: Sequence[int], rendered: Sequence[int]) -> int:
    """How many ids both begin with."""
    count = 0
    for one, other in zip(given, rendered, strict=False):
        if one != other:
            break
        count += 1
    return count
