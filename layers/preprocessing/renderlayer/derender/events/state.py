"""An event stream between two calls: from the stream state to a sequence, and back.

All that does not grow with the output is in the `resume` string (see `renderlayer.derender.core.state`): with it later
calls need neither the prompt nor, for Messages, the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.derender.core.logprobs import TokenTexts
from renderlayer.derender.core.output import OutputDecoder, StopStringBuffer
from renderlayer.derender.core.parser_session import ParserSession, check_prompt_known, reading_of
from renderlayer.derender.core.state import Resume
from renderlayer.derender.events.blocks import Blocks, Kind
from renderlayer.derender.events.sequence import Counts, EventSequence
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.derender import CONTEXT_TOKENS, NonNegative

if TYPE_CHECKING:
    from renderlayer.derender.core.prefix import SampledOutput

Json = dict[str, Any]
Ids = Annotated[list[int], Field(max_length=CONTEXT_TOKENS)]


class EventResume(Resume):
    """The inside of an event stream's resume string.

    Attributes:
        begun: whether the parser has read anything.
        context, queue, waiting: of `EventSequence`.
        held, passed, matched: of `StopStringBuffer`.
        blocks: count, kind, called, space, its kind and logprobs, of `Blocks`.
        counts: of `Counts`.
        with_logprobs: of `EventSequence`.
        told: what the API's teller remembers.
        ended: whether the closing events have been told.
    """

    begun: bool = False
    context: Ids = Field(default_factory=list)
    queue: list[Json | None] = Field(default_factory=list)
    waiting: list[tuple[str, Json]] = Field(default_factory=list)
    held: list[tuple[int, str]] = Field(default_factory=list)
    passed: NonNegative = 0
    matched: bool = False
    blocks: tuple[NonNegative, Kind, bool, str, Kind, list[Json]] = (0, "", False, "", "", [])
    counts: tuple[NonNegative, NonNegative, NonNegative, NonNegative | None, NonNegative] = (0, 0, 0, None, 0)
    with_logprobs: bool = False
    told: tuple[NonNegative, NonNegative, NonNegative, str] = (0, 0, 0, "")
    ended: bool = False


def first(
    request: ChatCompletionRequest,
    prompt: Sequence[int] | None,
    prompt_tokens: int | None,
    answer_id: str,
    server: ServedModel,
    *,
    with_logprobs: bool = False,
    whole: bool = False,
) -> EventSequence:
    """The sequence of an answer that begins.

    Args:
        request: the API's request as a chat request.
        prompt: the prompt's token ids; a parser needs them unless the answer is whole.
        prompt_tokens: the prompt's length, where the caller or the engine told it.

    Raises:
        BadRequest: there is a parser, but no prompt.
    """
    reading = reading_of(request, prompt, answer_id, server)
    if not whole:
        check_prompt_known(reading, prompt)
    options = reading.options
    detokenizer = Detokenizer.after_prompt(server.model.vocabulary, options.skip_special, prompt)
    hold = StopStringBuffer(options)
    return EventSequence(
        options,
        OutputDecoder(detokenizer, options, server, hold),
        hold,
        TokenTexts(server.model),
        reading.begin(0),
        with_logprobs,
        counts=Counts(prompt=len(prompt or ()) if prompt_tokens is None else prompt_tokens),
    )


def resumed(resume: EventResume, server: ServedModel) -> EventSequence:
    """The sequence that a chunk continues.

    Raises:
        BadRequest: the state lacks the parser's part.
    """
    options = resume.options
    parsing = None
    if any(server.parsers):
        if resume.parser is None or server.parser is None:
            raise BadRequest("invalid stream_state: resume lacks a parser's state")
        parsing = ParserSession(server.parser, resume.parser, resume.begun)
    detokenizer = Detokenizer(server.model.vocabulary, options.skip_special, resume.window, 0, resume.read)
    hold = StopStringBuffer(options, resume.held, resume.passed, resume.matched)
    return EventSequence(
        options,
        OutputDecoder(detokenizer, options, server, hold),
        hold,
        TokenTexts(server.model),
        parsing,
        with_logprobs=resume.with_logprobs,
        blocks=Blocks(*resume.blocks),
        counts=Counts(*resume.counts),
        queue=resume.queue,
        waiting=resume.waiting,
        context=resume.context,
        sampled=_sampled(resume),
    )


def _sampled(resume: EventResume) -> SampledOutput | None:
    if resume.sampled is None:
        return None
    from renderlayer.derender.core.prefix import SampledOutput

    return SampledOutput(None, *resume.sampled)


def remembered(sequence: EventSequence, server: ServedModel) -> Json:
    """A sequence's part of an `EventResume`; what is at its default is left out."""
    window, read = sequence.decoder.detokenizer.token_ids()
    held, passed, matched = sequence.hold.memory()
    parsing = sequence.parsing
    inside: Json = {
        "options": sequence.options.dumped(),
        "window": window,
        "read": read,
        "blocks": list(vars(sequence.blocks).values()),
        "counts": list(vars(sequence.counts).values()),
        "context": sequence.context,
        "queue": sequence.queue,
        "waiting": sequence.waiting,
        "held": held,
        "passed": passed,
        "matched": matched,
        "with_logprobs": sequence.with_logprobs,
    }
    if sequence.sampled is not None:
        inside["sampled"] = sequence.sampled.memory(server)
    if parsing is not None:
        inside |= {"parser": parsing.state, "begun": parsing.begun}
    return {name: value for name, value in inside.items() if value}
