"""Every route, once: which function serves it, and how a body becomes an answer.

The FastAPI application, the local gateway and the tests of `template.yaml` read this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from renderlayer.errors import LoneSurrogate
from renderlayer.http.application import Endpoint
from renderlayer.http.execution.garbage import uncollected
from renderlayer.http.execution.work import count_tokens, run_blocking
from renderlayer.http.request import decoded, header, media_type, read_body, require_json
from renderlayer.http.response import EVENT_STREAM, Pieces, Response, json_response, spliced
from renderlayer.request_context import HEADER, header_value, payloads_as_bytes, remarks, timed
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.json_text import dumped, dumped_fast
from renderlayer.wire.common.surrogates import located

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

# (decoded body, server, X-Request-Id header) -> answer
Work = Callable[[Any, ServedModel, str | None], Any]
# (decoded events of the body, server) -> events of the answer
StreamWork = Callable[[Iterable[Any], ServedModel], Iterator[Any]]


@dataclass(frozen=True)
class Route:
    """A POST route with JSON in and JSON out.

    Attributes:
        part: the function that serves it.
        open: gives what it does; imports what that needs, which a function that never serves it goes without.
        fast_json: whether the answer is written as orjson writes it, as the reference does for render.
        stream: what it does with a body that is an event stream; None refuses such bodies.
        named_events: whether the answering stream's values are {"event": name, "data": …}; they are sent under their
            names, and no [DONE] follows them.
    """

    path: str
    part: Literal["render", "derender"]
    open: Callable[[], Work]
    fast_json: bool = False
    stream: StreamWork | None = None
    named_events: bool = False

    @cached_property
    def work(self) -> Work:
        """What it does, opened once: imports inside of functions cost some microseconds at every call."""
        with uncollected():
            return self.open()


def _chat_render() -> Work:
    from renderlayer.render.chat import render_chat
    from renderlayer.wire.chat import ChatCompletionRequest
    from renderlayer.wire.common.base import parse

    return lambda body, server, header_id: render_chat(parse(ChatCompletionRequest, body), server, header_id)


def _completion_render() -> Work:
    from renderlayer.render.completion import render_completion
    from renderlayer.wire.common.base import parse
    from renderlayer.wire.completion import CompletionRequest

    return lambda body, server, header_id: render_completion(parse(CompletionRequest, body), server, header_id)


def _responses_render() -> Work:
    from renderlayer.render.responses.render import render_responses
    from renderlayer.wire.common.base import parse
    from renderlayer.wire.responses import ResponsesRequest

    return lambda body, server, header_id: render_responses(parse(ResponsesRequest, body), server, header_id)


def _messages_render() -> Work:
    from renderlayer.render.messages.render import render_messages
    from renderlayer.wire.common.base import parse
    from renderlayer.wire.messages import MessagesRequest

    return lambda body, server, header_id: render_messages(parse(MessagesRequest, body), server, header_id)


def _count_message_tokens() -> Work:
    from renderlayer.render.messages.render import count_message_tokens
    from renderlayer.wire.common.base import parse
    from renderlayer.wire.messages import CountTokensRequest

    return lambda body, server, header_id: count_message_tokens(parse(CountTokensRequest, body), server)


def _tokenize() -> Work:
    from renderlayer.render.tokenize import tokenize_request
    from renderlayer.wire.common.base import parse
    from renderlayer.wire.tokenize import TokenizeChatRequest, TokenizeCompletionRequest

    def work(body: Any, server: ServedModel, header_id: str | None) -> Any:
        chat = isinstance(body, dict) and "messages" in body
        request: TokenizeChatRequest | TokenizeCompletionRequest
        request = parse(TokenizeChatRequest, body) if chat else parse(TokenizeCompletionRequest, body)
        return tokenize_request(request, server)

    return work


def _detokenize() -> Work:
    from renderlayer.render.tokenize import detokenize_request
    from renderlayer.wire.common.base import parse
    from renderlayer.wire.tokenize import DetokenizeRequest

    return lambda body, server, header_id: detokenize_request(parse(DetokenizeRequest, body), server)


def _chat_derender() -> Work:
    from renderlayer.derender import derender_chat

    return lambda body, server, header_id: derender_chat(body, server)


def _chat_derender_stream(events: Iterable[Any], server: ServedModel) -> Iterator[Any]:
    from renderlayer.derender import stream_chat

    return stream_chat(events, server)


def _completion_derender() -> Work:
    from renderlayer.derender import derender_completion

    return lambda body, server, header_id: derender_completion(body, server)


def _completion_derender_stream(events: Iterable[Any], server: ServedModel) -> Iterator[Any]:
    from renderlayer.derender import stream_completion

    return stream_completion(events, server)


def _responses_derender() -> Work:
    from renderlayer.derender.events.responses import derender_responses

    return lambda body, server, header_id: derender_responses(body, server)


def _responses_derender_stream(events: Iterable[Any], server: ServedModel) -> Iterator[Any]:
    from renderlayer.derender.events.responses import stream_responses

    return stream_responses(events, server)


def _messages_derender() -> Work:
    from renderlayer.derender.events.messages_answer import derender_messages

    return lambda body, server, header_id: derender_messages(body, server)


def _messages_derender_stream(events: Iterable[Any], server: ServedModel) -> Iterator[Any]:
    from renderlayer.derender.events.messages_answer import stream_messages

    return stream_messages(events, server)


ROUTES: tuple[Route, ...] = (
    Route("/v1/chat/completions/render", "render", _chat_render, fast_json=True),
    Route("/v1/completions/render", "render", _completion_render, fast_json=True),
    Route("/v1/responses/render", "render", _responses_render, fast_json=True),
    Route("/v1/messages/render", "render", _messages_render, fast_json=True),
    Route("/v1/messages/count_tokens", "render", _count_message_tokens),
    Route("/tokenize", "render", _tokenize),
    Route("/detokenize", "render", _detokenize),
    Route("/v1/chat/completions/derender", "derender", _chat_derender, stream=_chat_derender_stream),
    Route("/v1/completions/derender", "derender", _completion_derender, stream=_completion_derender_stream),
    Route(
        "/v1/responses/derender",
        "derender",
        _responses_derender,
        stream=_responses_derender_stream,
        named_events=True,
    ),
    Route("/v1/messages/derender", "derender", _messages_derender, stream=_messages_derender_stream, named_events=True),
)


def route_endpoint(route: Route, server: ServedModel) -> Endpoint:
    """What answers requests of a route: reads the body, does the work with this model, writes the answer."""

    async def endpoint(scope: Scope, receive: Receive) -> Response:
        if route.stream is not None and media_type(scope) == EVENT_STREAM:
            from renderlayer.http.streams import derendered_stream

            return await derendered_stream(scope, receive, route.stream, server, route.named_events)
        require_json(scope)
        body = await read_body(scope, receive, server.settings.max_body_bytes)
        header_id = header(scope, b"x-request-id")

        def content() -> bytes | list[bytes]:
            value = decoded(body)
            try:
                return answered(value)
            except (LoneSurrogate, UnicodeEncodeError) as error:
                raise located(error, value) from None

        def answered(value: Any) -> bytes | list[bytes]:
            above = server.settings.reference_request_above
            with timed(route.part), nullcontext() if above or not route.fast_json else payloads_as_bytes():
                answer = route.work(value, server, header_id)
            count_tokens(scope, answer)
            if not route.fast_json:
                return dumped(answer)
            if not above:
                return spliced(answer)
            whole = dumped_fast(answer)
            if len(whole) <= above:
                return whole
            from renderlayer.references.writing import claims

            return dumped_fast(claims(answer, server.settings, server.model))

        def work() -> Response:
            with remarks() as found:
                written = content()
            response = Pieces(written) if isinstance(written, list) else json_response(written)
            if found:
                response.headers[HEADER] = header_value(found)
            return response

        return await run_blocking(scope, work)

    return endpoint
