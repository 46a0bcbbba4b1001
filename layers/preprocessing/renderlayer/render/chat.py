"""`/v1/chat/completions/render`: a chat request becomes a generate request (wire.md 3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from renderlayer.errors import BadRequest
from renderlayer.render import constraints
from renderlayer.render.chat_prompt import check_template, conversation_prompt, effort, template_kwargs
from renderlayer.render.content_parts import has_media
from renderlayer.render.dialect import CHAT, Dialect
from renderlayer.render.prompt import check_ids
from renderlayer.render.result import chat_id, chosen_id, extra_args, generate_request
from renderlayer.render.sampling import max_output_tokens, sampling_params
from renderlayer.render.types import MediaOptions, Prompt, TokenizeOptions
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.sampling import MmPayload

if TYPE_CHECKING:
    from renderlayer.render.continuing import Writer
    from renderlayer.wire.answers import GenerateRequest, Prefix

PROMPT_IDS = "prompt_token_ids"


def render_chat(request: ChatCompletionRequest, server: ServedModel, header_id: str | None = None) -> GenerateRequest:
    """Turn a chat request into a GenerateRequest.

    Args:
        request: the validated body.
        header_id: value of the X-Request-Id header, which beats the body's request_id.

    Returns:
        The GenerateRequest (wire.md 2.1), every key present.

    Raises:
        BadRequest, NotFound, Unprocessable: as wire.md 1.7 lists them.
    """
    server.check_name(request.model)
    if request.use_beam_search:
        raise BadRequest("Beam search is not supported by the render endpoint")
    check_template(server, request.chat_template, request.chat_template_kwargs)
    if not server.model.facts.harmony:
        server.check_media_kwargs(request.media_io_kwargs, request.mm_processor_kwargs)
    constraints.check_tool_choice(request, server)
    return rendered(request, server, chat_id(chosen_id(header_id, request.request_id)))


def rendered(
    request: ChatCompletionRequest, server: ServedModel, request_id: str, dialect: Dialect = CHAT
) -> GenerateRequest:
    """The GenerateRequest of a chat request that has passed its API's own checks."""
    kwargs = chat_kwargs(request, server)
    if request.continue_from is not None and not request.return_token_spans:
        return _continued(request, server, kwargs, request_id, dialect)
    prompt = _reused(request, server, dialect) or _prompt(request, server, kwargs, dialect)
    finished = _finished(request, server, prompt, kwargs, request_id, dialect)
    if request.return_prefix:
        finished = {**finished, **_prefix(request, server, prompt, None)}
    if request.return_token_spans:
        from renderlayer.render.spans import token_spans

        return {**finished, **token_spans(request, _writer(request, server, kwargs, dialect), list(prompt.token_ids))}
    return finished


def chat_kwargs(request: ChatCompletionRequest, server: ServedModel) -> dict[str, Any]:
    """The effective template kwargs of a chat request, which derender's parsers are given, too."""
    return template_kwargs(
        server,
        request.chat_template_kwargs,
        add_generation_prompt=request.add_generation_prompt,
        continue_final_message=request.continue_final_message,
        documents=request.documents,
        reasoning_effort=effort(request.reasoning_effort, server),
    )


def media_payload(request: ChatCompletionRequest, server: ServedModel) -> MmPayload:
    """What of the media is sent: the request's wish, its older alias, or the server's default.

    The front door's engine need not have seen the media, so it gets them in any case.
    """
    default = cast("MmPayload", server.settings.mm_payload)
    wish = request.mm_payload or ("none" if request.return_mm_kwargs is False else default)
    if wish == "none" and server.is_front_door:
        return "tensors" if default == "none" else default
    return wish


def _media(request: ChatCompletionRequest, server: ServedModel) -> MediaOptions:
    return MediaOptions(media_payload(request, server), request.media_io_kwargs, request.mm_processor_kwargs)


def _options(request: ChatCompletionRequest) -> TokenizeOptions:
    return TokenizeOptions(
        add_special_tokens=request.add_special_tokens,
        truncate=request.truncate_prompt_tokens,
        side=request.truncation_side,
        offsets=bool(request.return_token_offsets),
    )


def prompt_length(request: ChatCompletionRequest, server: ServedModel) -> int:
    """Tokens of a chat request's prompt, however long it is."""
    check_template(server, request.chat_template, request.chat_template_kwargs)
    request.mm_payload = "none"
    return len(_prompt(request, server, chat_kwargs(request, server), CHAT, limited=False).token_ids)


def _prompt(
    request: ChatCompletionRequest, server: ServedModel, kwargs: dict[str, Any], dialect: Dialect, limited: bool = True
) -> Prompt:
    return conversation_prompt(
        request.messages,
        server,
        kwargs=kwargs,
        options=_options(request),
        chat_template=request.chat_template,
        tools=_shown_tools(request, server),
        media=_media(request, server),
        effort=effort(request.reasoning_effort, server),
        limited=limited,
        dialect=dialect,
    )


def _shown_tools(request: ChatCompletionRequest, server: ServedModel) -> list[dict[str, Any]] | None:
    """The tools as the template sees them."""
    if request.tool_choice == "none" and server.settings.exclude_tools_when_tool_choice_none:
        return None
    return request.tool_dicts()


def _continued(
    request: ChatCompletionRequest, server: ServedModel, kwargs: dict[str, Any], request_id: str, dialect: Dialect
) -> GenerateRequest:
    """The request whose prompt goes on from given ids (wire.md 2.10)."""
    from renderlayer.render.continuing import continued

    assert request.continue_from is not None
    given, short = request.continue_from, request.continue_from.appended_only and not server.is_front_door
    writer = _writer(request, server, kwargs, dialect)
    prompt, told = continued(request, writer, lambda: _prompt(request, server, kwargs, dialect), short)
    extended = told["mode"] == "extended"
    start = told["kept"] if extended and short else 0
    finished = _finished(request, server, prompt, kwargs, request_id, dialect, start)
    return {**finished, "continuation": told, **_prefix(request, server, prompt, given.prefix if extended else None)}


def _prefix(request: ChatCompletionRequest, server: ServedModel, prompt: Prompt, after: str | None) -> Prefix:
    """The digest that stands for the prompt; at the front door it stands for the answer as well, and comes with that.

    Args:
        after: a digest of ids with which the prompt begins.
    """
    if not request.return_prefix or server.is_front_door:
        return {}
    from renderlayer.render.continuing.prefixes import keep_prefix

    return {"prefix": keep_prefix(prompt.token_ids, (), server, after)}


def _writer(request: ChatCompletionRequest, server: ServedModel, kwargs: dict[str, Any], dialect: Dialect) -> Writer:
    """What writes the request's conversation, whole or in part."""
    from renderlayer.render.continuing import Writer

    return Writer(
        server,
        kwargs,
        _shown_tools(request, server),
        request.chat_template,
        effort(request.reasoning_effort, server),
        dialect,
        request.add_special_tokens,
        tuple(entry for entry in request.stop_token_ids or () if 0 <= entry < len(server.model.vocabulary)),
        _media(request, server),
    )


def _reused(request: ChatCompletionRequest, server: ServedModel, dialect: Dialect) -> Prompt | None:
    """The prompt that a prefill step already made and sent back in kv_transfer_params (wire.md 2.4)."""
    params = request.kv_transfer_params or {}
    if PROMPT_IDS not in params or (server.model.facts.harmony and not dialect.engine_parses):
        return None
    token_ids = params[PROMPT_IDS]
    request.kv_transfer_params = {key: value for key, value in params.items() if key != PROMPT_IDS}
    if token_ids is None or request.echo or any(map(has_media, request.messages)):
        return None
    place = f"kv_transfer_params.{PROMPT_IDS}"
    if not isinstance(token_ids, list) or not token_ids or any(type(entry) is not int for entry in token_ids):
        raise BadRequest(f"{place} must be a non-empty list of token ids.", place)
    if not all(0 <= entry < len(server.model.vocabulary) for entry in token_ids):
        raise BadRequest(f"{place} holds an id that is not in the vocabulary.", place)
    return Prompt(check_ids(token_ids, server, _options(request)))


def _finished(
    request: ChatCompletionRequest,
    server: ServedModel,
    prompt: Prompt,
    kwargs: dict[str, Any],
    request_id: str,
    dialect: Dialect,
    start: int = 0,
) -> GenerateRequest:
    """Constraints, sampling parameters and parse context around the tokens (wire.md 3.1 steps 8 and 9).

    Args:
        start: the first of the prompt's tokens that is answered.
    """
    if not prompt.token_ids:
        raise BadRequest("No token_ids rendered")
    param = "max_tokens" if request.max_completion_tokens is None else "max_completion_tokens"
    max_tokens = max_output_tokens(
        server,
        len(prompt.token_ids),
        getattr(request, param),
        dialect.limit_param or param,
        request.truncate_prompt_tokens,
        checked=not (server.model.facts.harmony and dialect.engine_parses),
    )
    change = constraints.adjustment(request, server, prompt.token_ids, grammars=dialect.engine_parses)
    prompt_logprobs = request.prompt_logprobs
    if prompt_logprobs is None and request.echo:
        prompt_logprobs = request.top_logprobs
    params = sampling_params(
        request,
        server,
        max_tokens=max_tokens,
        logprobs=request.top_logprobs if request.logprobs and not request.asks_for_tokens else None,
        prompt_logprobs=prompt_logprobs,
        structured_outputs=change.structured_outputs if change else None,
        skip_special_tokens=change.skip_special_tokens if change else None,
        extra_args=extra_args(request, dialect.empty_extra_args),
    )
    ended: bool | None = None
    if not request.include_reasoning or (change and change.reasoning_ended):
        ended = True
    elif server.parsers.reasoning and server.parser and dialect.engine_parses:
        ended = server.parser.reasoning_ended(prompt.token_ids, kwargs)
    return generate_request(
        request,
        request_id=request_id,
        token_ids=list(prompt.token_ids[start:]) if start else prompt.token_ids,
        sampling_params=params,
        offsets=prompt.offsets,
        features=prompt.features,
        reasoning_ended=ended,
        reasoning_kwargs=kwargs if server.parsers.reasoning else None,
        parse_context={
            "tools": request.tool_dicts(),
            "tool_choice": request.choice(),
            "parallel_tool_calls": request.parallel_tool_calls,
            "include_reasoning": request.include_reasoning,
            "chat_template_kwargs": {} if server.model.facts.harmony else kwargs,
            "history_tool_call_cnt": prompt.history_tool_calls,
        }
        if dialect.engine_parses
        else None,
    )
