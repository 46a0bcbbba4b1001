"""`/tokenize` and `/detokenize` (wire.md 1.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renderlayer.render.chat_prompt import check_template, conversation_prompt, template_kwargs
from renderlayer.render.types import MediaOptions, TokenizeOptions
from renderlayer.served_model import ServedModel
from renderlayer.wire.tokenize import DetokenizeRequest, TokenizeChatRequest, TokenizeCompletionRequest

if TYPE_CHECKING:
    from renderlayer.wire.answers import Detokenization, Tokenization


def tokenize_request(request: TokenizeCompletionRequest | TokenizeChatRequest, server: ServedModel) -> Tokenization:
    """Token ids of a text or a conversation; no length limit applies.

    Raises:
        BadRequest, NotFound: as for the render endpoints.
    """
    server.check_name(request.model)
    if isinstance(request, TokenizeCompletionRequest):
        token_ids = server.model.tokenizer.encode(request.prompt, request.add_special_tokens)
    else:
        token_ids = _conversation_ids(request, server)
    pieces = None
    if request.return_token_strs:
        pieces = [server.model.vocabulary.piece(token_id) or "" for token_id in token_ids]
    return {
        "count": len(token_ids),
        "max_model_len": server.max_model_len,
        "tokens": token_ids,
        "token_strs": pieces,
    }


def detokenize_request(request: DetokenizeRequest, server: ServedModel) -> Detokenization:
    """The text of token ids; ids outside the vocabulary decode to nothing."""
    server.check_name(request.model)
    size = len(server.model.vocabulary)
    known = [token_id for token_id in request.tokens if token_id < size]
    return {"prompt": server.model.tokenizer.decode(known, skip_special_tokens=False)}


def _conversation_ids(request: TokenizeChatRequest, server: ServedModel) -> list[int]:
    check_template(server, request.chat_template, request.chat_template_kwargs)
    if not server.model.facts.harmony:
        server.check_media_kwargs(request.media_io_kwargs, request.mm_processor_kwargs)
    kwargs = template_kwargs(
        server,
        request.chat_template_kwargs,
        add_generation_prompt=request.add_generation_prompt,
        continue_final_message=request.continue_final_message,
    )
    media = MediaOptions("none", request.media_io_kwargs, request.mm_processor_kwargs)
    prompt = conversation_prompt(
        request.messages,
        server,
        kwargs=kwargs,
        options=TokenizeOptions(request.add_special_tokens),
        chat_template=request.chat_template,
        tools=request.tool_dicts(),
        media=media,
        limited=False,
    )
    return list(prompt.token_ids)
