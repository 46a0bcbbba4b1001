"""The operations that need the model: render, derender, the front door, and tokens."""

from __future__ import annotations

from renderlayer.http.openapi import answers, events, examples, objects
from renderlayer.http.openapi.operation import CONTINUING, FRONT_DOOR, RENDER, Operation
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.derender import (
    DerenderChatRequest,
    DerenderChatStreamRequest,
    DerenderCompletionRequest,
    DerenderCompletionStreamRequest,
)
from renderlayer.wire.derender_dialects import (
    DerenderMessagesRequest,
    DerenderMessagesStreamRequest,
    DerenderResponsesRequest,
    DerenderResponsesStreamRequest,
)
from renderlayer.wire.generate import GenerateRequest
from renderlayer.wire.messages import CountTokensRequest, MessagesRequest
from renderlayer.wire.responses import ResponsesRequest
from renderlayer.wire.tokenize import DetokenizeRequest, TokenizeChatRequest, TokenizeCompletionRequest

_EVENTS_IN = (
    "A first event with the fields of a streamed call that do not change (`{request}`, `prompt_token_ids`, …), "
    "then the events of the engine's stream as they came."
)
_CHUNKS = "`data:` lines, each a {chunk}, and `[DONE]` at the end."
_NAMED = "The API's own events, each under its name; the last is {last}."

RENDERS = (
    Operation(
        "POST",
        "/v1/chat/completions/render",
        "render_chat_completion",
        "render",
        "Render a chat",
        body=ChatCompletionRequest,
        examples=examples.CHAT_WITH_TOOLS,
        answer=answers.RenderedPrompt,
        errors=(*RENDER, *CONTINUING),
    ),
    Operation(
        "POST",
        "/v1/completions/render",
        "render_completion",
        "render",
        "Render prompts",
        "One generate request a prompt, in the order of the prompts.",
        body=CompletionRequest,
        examples=examples.COMPLETION,
        answer=list[GenerateRequest],
        errors=RENDER,
    ),
    Operation(
        "POST",
        "/v1/responses/render",
        "render_response",
        "render",
        "Render a Responses request",
        body=ResponsesRequest,
        examples=examples.RESPONSES,
        answer=answers.RenderedPrompt,
        errors=(*RENDER, *CONTINUING),
    ),
    Operation(
        "POST",
        "/v1/messages/render",
        "render_message",
        "render",
        "Render a Messages request",
        body=MessagesRequest,
        examples=examples.MESSAGES,
        answer=answers.RenderedPrompt,
        errors=(*RENDER, *CONTINUING),
    ),
)
DERENDERS = (
    Operation(
        "POST",
        "/v1/chat/completions/derender",
        "derender_chat_completion",
        "derender",
        "Derender a chat",
        "A whole answer, or with `stream` true one event of a stream and the state of the call before.",
        body=DerenderChatRequest | DerenderChatStreamRequest,
        examples=examples.DERENDER_CHAT,
        answer=answers.ChatCompletion | answers.DerenderedChatChunk,
        events_in=_EVENTS_IN.format(request="chat_request"),
        events_out=_CHUNKS.format(chunk="ChatCompletionChunk"),
    ),
    Operation(
        "POST",
        "/v1/completions/derender",
        "derender_completion",
        "derender",
        "Derender completions",
        "Whole answers, one a prompt, or one event of a stream and the state of the call before.",
        body=DerenderCompletionRequest | DerenderCompletionStreamRequest,
        examples=examples.DERENDER_COMPLETION,
        answer=answers.Completion | answers.DerenderedCompletionChunk,
        events_in=_EVENTS_IN.format(request="completion_request"),
        events_out=_CHUNKS.format(chunk="CompletionChunk"),
    ),
    Operation(
        "POST",
        "/v1/responses/derender",
        "derender_response",
        "derender",
        "Derender to a Response",
        "A whole answer becomes a Response, one event of a stream becomes events of the Responses API.",
        body=DerenderResponsesRequest | DerenderResponsesStreamRequest,
        examples=examples.DERENDER_RESPONSES,
        answer=events.Response | events.DerenderedEvents,
        events_in=_EVENTS_IN.format(request="responses_request"),
        events_out=_NAMED.format(last="response.completed, .incomplete or .failed"),
    ),
    Operation(
        "POST",
        "/v1/messages/derender",
        "derender_message",
        "derender",
        "Derender to a Message",
        "A whole answer becomes a Message, one event of a stream becomes events of the Messages API.",
        body=DerenderMessagesRequest | DerenderMessagesStreamRequest,
        examples=examples.DERENDER_MESSAGES,
        answer=events.AnthropicMessage | events.DerenderedEvents,
        events_in=_EVENTS_IN.format(request="messages_request"),
        events_out=_NAMED.format(last="message_stop"),
    ),
)
FRONT_DOORS = (
    Operation(
        "POST",
        "/v1/chat/completions",
        "create_chat_completion",
        "front door",
        "Answer a chat",
        body=ChatCompletionRequest,
        examples=examples.CHAT,
        answer=answers.ChatCompletion,
        errors=(*FRONT_DOOR, *CONTINUING),
        events_out=_CHUNKS.format(chunk="ChatCompletionChunk"),
    ),
    Operation(
        "POST",
        "/v1/completions",
        "create_completion",
        "front door",
        "Complete prompts",
        body=CompletionRequest,
        examples=examples.COMPLETION,
        answer=answers.Completion,
        errors=FRONT_DOOR,
        events_out=_CHUNKS.format(chunk="CompletionChunk"),
    ),
    Operation(
        "POST",
        "/v1/responses",
        "create_response",
        "front door",
        "Answer a Responses request",
        body=ResponsesRequest,
        examples=examples.RESPONSES,
        answer=events.Response,
        errors=(*FRONT_DOOR, *CONTINUING),
        events_out=_NAMED.format(last="response.completed, .incomplete or .failed"),
    ),
    Operation(
        "POST",
        "/v1/messages",
        "create_message",
        "front door",
        "Answer a Messages request",
        body=MessagesRequest,
        examples=examples.MESSAGES,
        answer=events.AnthropicMessage,
        errors=(*FRONT_DOOR, *CONTINUING),
        in_anthropics_form=True,
        events_out=_NAMED.format(last="message_stop"),
    ),
)
TOKENS = (
    Operation(
        "POST",
        "/v1/messages/count_tokens",
        "count_message_tokens",
        "tokens",
        "Count the tokens of a Messages request",
        body=CountTokensRequest,
        examples=examples.COUNT_TOKENS,
        answer=events.TokenCount,
        errors=RENDER,
        in_anthropics_form=True,
    ),
    Operation(
        "POST",
        "/tokenize",
        "tokenize",
        "tokens",
        "Token ids of a text or a conversation",
        body=TokenizeCompletionRequest | TokenizeChatRequest,
        examples=examples.TOKENIZE,
        answer=objects.Tokens,
        errors=RENDER,
    ),
    Operation(
        "POST",
        "/detokenize",
        "detokenize",
        "tokens",
        "Text of token ids",
        body=DetokenizeRequest,
        examples=examples.DETOKENIZE,
        answer=objects.Text,
    ),
)

INFERENCE = (*RENDERS, *DERENDERS, *FRONT_DOORS, *TOKENS)
