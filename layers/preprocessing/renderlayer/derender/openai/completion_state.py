"""A completion stream between two calls: from the stream state to a sequence, and back (wire.md 6.1, 6.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from renderlayer.derender.core import checks
from renderlayer.derender.core.detokenize import continued
from renderlayer.derender.core.logprobs import TokenTexts
from renderlayer.derender.core.options import NO_REQUEST, completion_options
from renderlayer.derender.core.output import OutputDecoder
from renderlayer.derender.core.sequences import CompletionSequence
from renderlayer.derender.core.state import decode_stream_state, encode_stream_state
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender import DerenderCompletionStreamRequest, DerenderStreamState

if TYPE_CHECKING:
    from renderlayer.wire.answers import StreamState

ENDPOINT = "completion"


def resumed(body: DerenderCompletionStreamRequest, server: ServedModel) -> CompletionSequence:
    """The sequence that a chunk continues, or begins.

    Raises:
        BadRequest: the request has stop strings, the chunk has several choices, the prompt is longer than the context,
            or the state is not ours.
    """
    checks.check_no_stop(body.completion_request)
    checks.check_prompt(body.prompt_token_ids, server)
    state, chunk = body.stream_state or DerenderStreamState(), body.generate_chunk
    checks.check_one_choice(len(chunk.choices), "derender_completion_stream")
    checks.check_chunk(chunk, server)
    options = NO_REQUEST if state.resume is None else decode_stream_state(state.resume, ENDPOINT, server).options
    if body.completion_request is not None:
        options = completion_options(body.completion_request)
    prompt = chunk.prompt_token_ids if body.prompt_token_ids is None else body.prompt_token_ids
    return CompletionSequence(
        options,
        OutputDecoder(
            continued(body.stream_state, options.skip_special, prompt, server.model.vocabulary), options, server
        ),
        TokenTexts(server.model),
        list(state.logprob_context_token_ids),
        state.logprob_text_offset,
    )


def saved(sequence: CompletionSequence, body: DerenderCompletionStreamRequest, server: ServedModel) -> StreamState:
    """The state for the next chunk."""
    state = body.stream_state or DerenderStreamState()
    pieces, read = sequence.decoder.detokenizer.pieces()
    options = sequence.options.dumped()
    changes: dict[str, Any] = {
        "prev_tokens": pieces,
        "prefix_offset": 0,
        "read_offset": read,
        "logprob_context_token_ids": sequence.context,
        "logprob_text_offset": sequence.text_offset,
        "resume": encode_stream_state({"options": options}, ENDPOINT, server) if options else None,
    }
    return cast("StreamState", state.after(changes))
