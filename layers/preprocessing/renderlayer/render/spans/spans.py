"""The `token_spans`, `assistant_mask` and `mixed_tokens` of a rendered chat (docs/wire.md 2.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renderlayer.errors import BadRequest
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.writing import Writer
from renderlayer.render.spans.parts import parts_of
from renderlayer.render.spans.sampled import sampled_in
from renderlayer.render.spans.tokens import mask, offsets_of, on_tokens, runs
from renderlayer.wire.chat import ChatCompletionRequest

if TYPE_CHECKING:
    from renderlayer.wire.answers import TokenSpans

FIELD = "return_token_spans"


def token_spans(request: ChatCompletionRequest, writer: Writer, token_ids: list[int]) -> TokenSpans:
    """The keys that the answer has beside the others.

    Args:
        writer: of the request.
        token_ids: what it was rendered to.

    Raises:
        BadRequest: nobody can say which characters a token of the prompt is of.
    """
    if request.continue_from is not None or request.truncate_prompt_tokens is not None:
        raise BadRequest(
            f"{FIELD} is of whole prompts: neither continue_from nor truncate_prompt_tokens goes with it.", FIELD
        )
    generate = bool(writer.kwargs.get("add_generation_prompt"))
    try:
        written = writer.write(request.messages, generate)
    except NotExtended as refused:
        raise BadRequest(f"{FIELD}: {refused}", FIELD) from refused
    tokenizer = writer.server.model.tokenizer
    if written.ids is None:
        ids, offsets = tokenizer.encode_with_offsets(written.text)
    else:  # of families whose prompts are no text, and with media
        ids = written.ids
        offsets = offsets_of(ids, written.text, writer.server.model.vocabulary)
    prefix = tokenizer.prefix_ids if request.add_special_tokens else []
    suffix = tokenizer.suffix_ids if request.add_special_tokens else []
    if [*prefix, *ids, *suffix] != token_ids:
        raise BadRequest(f"{FIELD}: the prompt's tokens are not those that its messages are written as.", FIELD)
    offsets = [*[(0, 0)] * len(prefix), *offsets, *[(0, 0)] * len(suffix)]
    parts = on_tokens(parts_of(written.text, request.messages, writer, generate), offsets)
    spans, mixed = runs(parts, offsets)
    sampled = sampled_in(written.text, parts, request.messages, writer)
    return {"token_spans": spans, "assistant_mask": mask(sampled, offsets), "mixed_tokens": mixed}
