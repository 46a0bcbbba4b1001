"""From messages to token ids: template and its variables, tokenizer, media (wire.md 3.1 steps 4 to 7, 3.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.conversation import Conversation, conversation
from renderlayer.render.dialect import CHAT, Dialect
from renderlayer.render.prompt import token_limit, tokenize
from renderlayer.render.renderers import open_prompt_encoder, open_renderer
from renderlayer.render.types import ChatParams, MediaOptions, Prompt, TokenizeOptions
from renderlayer.served_model import ServedModel


def check_template(server: ServedModel, chat_template: str | None, kwargs: dict[str, Any] | None) -> None:
    """Refuse chat templates in requests unless the operator trusts them, or the family ignores them (wire.md 1.7)."""
    renderer = server.derived(open_renderer)
    if renderer is not None:
        renderer.check_template(chat_template, kwargs)
    else:
        server.check_template_trust(chat_template, kwargs)


def conversation_prompt(
    messages: Sequence[dict[str, Any]],
    server: ServedModel,
    *,
    kwargs: dict[str, Any],
    options: TokenizeOptions,
    chat_template: str | None = None,
    tools: list[dict[str, Any]] | None = None,
    media: MediaOptions | None = None,
    effort: str | None = None,
    limited: bool = True,
    dialect: Dialect = CHAT,
) -> Prompt:
    """Render a conversation and tokenize it.

    Args:
        messages: chat messages, already checked.
        kwargs: the effective template kwargs.
        chat_template: a template of the request, already trusted.
        effort: the request's reasoning effort, after the server's map.
        limited: whether the context length binds (/tokenize has no limit).
        dialect: the API that the messages came through.

    Raises:
        BadRequest: the template refused, a part is malformed, or the prompt is too long.
        Unprocessable: media could not be fetched.
    """
    renderer = server.derived(open_renderer)
    if renderer is not None:
        params = ChatParams(messages, tools, kwargs, options, media or MediaOptions(), effort, limited, dialect)
        return renderer.prompt(params)
    template = server.derived(open_prompt_encoder) or server.model.templates.resolve(chat_template, bool(tools))
    seen = conversation(messages, server, template, dialect)
    mark = ""
    if seen.media:
        messages, mark = _without_spelled(messages, seen, server, template.content_format)
        seen = conversation(messages, server, template, dialect) if mark else seen
    if not seen.messages:
        raise BadRequest("Cannot apply chat template to an empty conversation. Provide at least one message.")
    text = template.render(seen.messages, tools, _documents(kwargs), kwargs)
    if seen.media:
        return _with_media(text, mark, seen, server, options, media or MediaOptions(), limited)
    if not limited:
        return Prompt(server.model.tokenizer.encode(text, options.add_special_tokens))
    token_ids, offsets = tokenize(text, server, options)
    return Prompt(token_ids, offsets, None, seen.tool_call_count)


def _without_spelled(
    messages: Sequence[dict[str, Any]], talk: Conversation, server: ServedModel, content_format: str
) -> tuple[Sequence[dict[str, Any]], str]:
    """The messages with the placeholders that their texts spell broken, and the mark that breaks them."""
    from renderlayer import multimodal
    from renderlayer.render import spelled

    whole: list[str] = []
    if content_format == "string":  # in which clients may write placeholders by hand
        counts = Counter(item.modality for item in talk.media)
        whole = [
            multimodal.placeholder(server.model, modality, ordinal + 1)
            for modality, count in counts.items()
            for ordinal in range(count)
        ]
    return spelled.broken(messages, multimodal.units(server.model), whole)


def _tokenized(text: str, mark: str, talk: Conversation, server: ServedModel, options: TokenizeOptions) -> list[int]:
    if not mark:
        return server.model.tokenizer.encode(text, options.add_special_tokens)
    from renderlayer import multimodal
    from renderlayer.render import spelled

    counts = Counter(item.modality for item in talk.media)
    units = multimodal.units(server.model)
    return spelled.tokenize(text, mark, units, server.model.tokenizer, options.add_special_tokens, counts)


def _documents(kwargs: dict[str, Any]) -> list[Any] | None:
    """The documents for the template; those in the template kwargs have passed no model of the wire."""
    documents = kwargs.get("documents")
    if documents is None or (isinstance(documents, list) and all(isinstance(entry, dict) for entry in documents)):
        return documents
    if documents in ("", {}):
        return []
    raise BadRequest("Documents should be a list of dicts with 'title' and 'text' keys!")


def _with_media(
    text: str,
    mark: str,
    talk: Conversation,
    server: ServedModel,
    options: TokenizeOptions,
    media: MediaOptions,
    limited: bool,
) -> Prompt:
    """Expand placeholders; truncation is applied to the expanded ids, where an item is never cut.

    Args:
        mark: what breaks placeholders that texts spell; "" where none is spelled.
    """
    from renderlayer.references.writing import payload_writer

    keep = token_limit(server, options)
    from renderlayer import multimodal

    multimodal.check_counts(server.model, server.settings, talk.media)
    bare = _tokenized(text, mark, talk, server, options)
    expanded = multimodal.apply(
        server.model,
        server.settings,
        bare,
        talk.media,
        payload="none" if media.payload == "none" else "tensors",
        media_io_kwargs=media.io_kwargs,
        mm_processor_kwargs=media.processor_kwargs,
        write=payload_writer(media.payload, server.settings, server.model, len(talk.media)),
    )
    longest, size = server.max_model_len, len(expanded.token_ids)
    if keep is not None:
        expanded = multimodal.truncated(expanded, keep, "right" if options.side == "right" else "left")
    elif limited and size > longest:
        raise BadRequest(f"Input length ({size}) exceeds model's maximum context length ({longest}).")
    return Prompt(expanded.token_ids, None, expanded.features, talk.tool_call_count)


def effort(given: str | None, server: ServedModel) -> str | None:
    """A reasoning effort after the server's map."""
    return given if given is None else server.settings.reasoning_effort_map.get(given, given)


def template_kwargs(
    server: ServedModel,
    given: dict[str, Any] | None,
    *,
    add_generation_prompt: bool,
    continue_final_message: bool,
    documents: list[dict[str, str]] | None = None,
    reasoning_effort: str | None = None,
) -> dict[str, Any]:
    """Server defaults, overlaid by the request's kwargs, overlaid by what its fields say.

    `reasoning_effort` is the mapped effort; it also switches `enable_thinking` unless the request did. Values that are
    None or "auto" are dropped.
    """
    base = {"cohere_format": server.settings.cohere_format, **server.settings.default_chat_template_kwargs}
    base |= given or {}
    base |= {"add_generation_prompt": add_generation_prompt, "continue_final_message": continue_final_message}
    if documents is not None:
        base["documents"] = documents
    if reasoning_effort is not None:
        base["reasoning_effort"] = reasoning_effort
        if "enable_thinking" not in (given or {}):
            base["enable_thinking"] = reasoning_effort != "none"
    return {key: value for key, value in base.items() if value is not None and value != "auto"}
