"""Whole generate streams to whole OpenAI streams: one parser for the lot, any number of sequences (wire.md 6.6 to 6.8).

Unlike the calls that take one event each, a whole stream may have stop strings: what could be the start of one is held
back until it is certain. Events that tell the client nothing give no chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from renderlayer.derender.core import checks
from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.derender.core.logprobs import TokenTexts
from renderlayer.derender.core.message import CallEncoder
from renderlayer.derender.core.options import NO_REQUEST, Options, completion_options
from renderlayer.derender.core.output import OutputDecoder, StopStringBuffer
from renderlayer.derender.core.parser_session import ParseContext, check_prompt_known, reading_of
from renderlayer.derender.core.sequences import ChatSequence, CompletionSequence
from renderlayer.derender.openai.answers import Json, chat_chunk, chunk_usage, completion_chunk, now
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse, parse_at
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.derender import (
    ChatStreamPreamble,
    CompletionStreamPreamble,
    GenerateChunk,
    GenerateChunkChoice,
)

if TYPE_CHECKING:
    from renderlayer.derender.core.prefix import SampledOutput
    from renderlayer.wire.answers import ChatChunkChoice, CompletionChoice, Usage

S = TypeVar("S", ChatSequence, CompletionSequence)
C = TypeVar("C")


class _Stream(ABC, Generic[S, C]):
    """What both kinds of stream share: a sequence for each choice index, made when it first appears."""

    def __init__(
        self,
        server: ServedModel,
        model: str | None,
        prompt_token_ids: Sequence[int] | None,
        prompt_tokens: int | None,
    ) -> None:
        server.check_name(model)
        checks.check_prompt(prompt_token_ids, server)
        self._server = server
        self._model = model or server.names[0]
        self._prompt = prompt_token_ids
        self._prompt_tokens = prompt_tokens
        self._created = now()
        self._tokens = TokenTexts(server.model)
        self._sequences: dict[int, S] = {}

    def step(self, event: Any) -> Json | None:
        """The chunk for one event of the engine; None when it tells the client nothing.

        An event that reports an error is given back as it is.

        Raises:
            ValidationFailed: the event is not the engine's wire.
            BadRequest: the stream is longer than the context, or its parser lacks the request or the prompt.
        """
        if isinstance(event, dict) and "error" in event:
            return {"error": event["error"]}
        chunk = parse_at(GenerateChunk, event, "generate_chunk")
        if self._prompt is None:
            self._prompt = chunk.prompt_token_ids
        checks.check_chunk(chunk, self._server)
        answered = [self._told(choice, chunk) for choice in chunk.choices]
        choices = [choice for choice in answered if choice is not None]
        usage = chunk_usage(chunk, self._prompt_tokens)
        return None if not choices and usage is None else self._envelope(chunk, choices, usage)

    def _told(self, choice: GenerateChunkChoice, chunk: GenerateChunk) -> C | None:
        sequence = self._sequences.get(choice.index)
        if sequence is None:
            checks.check_count("choices", len(self._sequences) + 1, self._server)
            sequence = self._sequences[choice.index] = self._begin(choice.index, chunk)
        checks.check_total(sequence.total, len(choice.token_ids or ()), self._server)
        return self._step(sequence, choice, chunk)

    def _decoder(self, options: Options) -> OutputDecoder:
        detokenizer = Detokenizer.after_prompt(self._server.model.vocabulary, options.skip_special, self._prompt)
        return OutputDecoder(detokenizer, options, self._server, StopStringBuffer(options))

    @abstractmethod
    def _begin(self, index: int, chunk: GenerateChunk) -> S: ...

    @abstractmethod
    def _step(self, sequence: S, choice: GenerateChunkChoice, chunk: GenerateChunk) -> C | None: ...

    @abstractmethod
    def _envelope(self, chunk: GenerateChunk, choices: list[C], usage: Usage | None) -> Json: ...


class ChatStream(_Stream[ChatSequence, "ChatChunkChoice"]):
    """A chat completion stream.

    Args:
        request: the chat request; needed where a parser is configured.
        model: name to answer with (default: the server's first).
        prompt_token_ids: the prompt; where a parser is configured needed here or in the first event.
        prompt_tokens: the prompt's length for `usage` (default: the engine's).
        prefix: the digest that stands for the prompt, where there is one.

    Example:
        >>> stream = ChatStream(server, request, prompt_token_ids=rendered["token_ids"])
        >>> async for event in engine:
        ...     if (chunk := stream.step(event)) is not None:
        ...         yield sse.event(chunk)
    """

    def __init__(
        self,
        server: ServedModel,
        request: ChatCompletionRequest | None = None,
        *,
        model: str | None = None,
        prompt_token_ids: Sequence[int] | None = None,
        prompt_tokens: int | None = None,
        prefix: str | None = None,
    ) -> None:
        super().__init__(server, model, prompt_token_ids, prompt_tokens)
        self._request = request
        self._reading: ParseContext | None = None
        self._prefix = prefix
        self._sampled: SampledOutput | None = None

    def _begin(self, index: int, chunk: GenerateChunk) -> ChatSequence:
        if self._reading is None:
            self._reading = reading_of(self._request, self._prompt, chunk.request_id, self._server)
            check_prompt_known(self._reading, self._prompt)
            if self._request is not None and self._request.return_prefix:
                from renderlayer.derender.core.prefix import SampledOutput

                self._sampled = SampledOutput(self._prompt, self._prefix)
        options = self._reading.options
        parsing = self._reading.begin(index)
        calls = CallEncoder(options.custom)
        return ChatSequence(
            options, self._decoder(options), self._tokens, parsing, len(self._prompt or ()), calls=calls
        )

    def _step(
        self, sequence: ChatSequence, choice: GenerateChunkChoice, chunk: GenerateChunk
    ) -> ChatChunkChoice | None:
        answered = sequence.step(choice)
        if self._sampled is not None and choice.index == 0:
            self._sampled.add(choice.token_ids)
        return None if not any(answered["delta"].values()) and _is_silent(answered) else answered

    def _envelope(self, chunk: GenerateChunk, choices: list[ChatChunkChoice], usage: Usage | None) -> Json:
        with_prompt = self._request is not None and bool(self._request.return_token_ids)
        answer: Json = {**chat_chunk(chunk, self._model, choices, usage, with_prompt, self._created)}
        if self._sampled is not None and any(choice["finish_reason"] and choice["index"] == 0 for choice in choices):
            answer["prefix"] = self._sampled.digest(self._server)
        return answer


class CompletionStream(_Stream[CompletionSequence, "CompletionChoice"]):
    """A text completion stream.

    Args:
        request: the completion request, if there is one.
        model, prompt_token_ids, prompt_tokens: as for `ChatStream`.
        first_index: index of the first choice, for the second and later prompts of a request.
    """

    def __init__(
        self,
        server: ServedModel,
        request: CompletionRequest | None = None,
        *,
        model: str | None = None,
        prompt_token_ids: Sequence[int] | None = None,
        prompt_tokens: int | None = None,
        first_index: int = 0,
    ) -> None:
        super().__init__(server, model, prompt_token_ids, prompt_tokens)
        self._options = NO_REQUEST if request is None else completion_options(request)
        self._first_index = first_index

    def _begin(self, index: int, chunk: GenerateChunk) -> CompletionSequence:
        decoder = self._decoder(self._options)
        return CompletionSequence(self._options, decoder, self._tokens, total=len(self._prompt or ()))

    def _step(
        self, sequence: CompletionSequence, choice: GenerateChunkChoice, chunk: GenerateChunk
    ) -> CompletionChoice | None:
        answered = sequence.step(choice, chunk.prompt_token_ids)
        if not answered["text"] and _is_silent(answered):
            return None
        return {**answered, "index": self._first_index + choice.index}

    def _envelope(self, chunk: GenerateChunk, choices: list[CompletionChoice], usage: Usage | None) -> Json:
        return {**completion_chunk(chunk, self._model, choices, usage, self._created)}


def _is_silent(choice: ChatChunkChoice | CompletionChoice) -> bool:
    """Whether a choice without text tells nothing else either."""
    return choice["logprobs"] is None and choice["finish_reason"] is None and choice["token_ids"] is None


def stream_chat(events: Iterable[Any], server: ServedModel) -> Iterator[Json]:
    """Derender a whole chat stream that came over the wire.

    Args:
        events: the decoded events of the generate stream. Before them may stand one with the fields of a stream call
            that do not change (`chat_request`, `prompt_token_ids`, `prompt_tokens`, `model`); a parser needs it.

    Yields:
        Chat completion chunks; after an event that reports an error, that event, and nothing more.

    Raises:
        ValidationFailed, NotFound, BadRequest: as the calls for single events do.
    """

    def begin(preamble: Any) -> ChatStream:
        given = parse(ChatStreamPreamble, preamble)
        if given.prefix is not None:
            from renderlayer.derender.core.prefix import with_prompt

            given = with_prompt(given, server)
        return ChatStream(
            server,
            given.chat_request,
            model=given.model,
            prompt_token_ids=given.prompt_token_ids,
            prompt_tokens=given.prompt_tokens,
            prefix=given.prefix,
        )

    return _derendered(events, begin)


def stream_completion(events: Iterable[Any], server: ServedModel) -> Iterator[Json]:
    """As `stream_chat`, for text completions; the request is `completion_request`."""

    def begin(preamble: Any) -> CompletionStream:
        given = parse(CompletionStreamPreamble, preamble)
        return CompletionStream(
            server,
            given.completion_request,
            model=given.model,
            prompt_token_ids=given.prompt_token_ids,
            prompt_tokens=given.prompt_tokens,
        )

    return _derendered(events, begin)


def _derendered(events: Iterable[Any], begin: Callable[[Any], ChatStream | CompletionStream]) -> Iterator[Json]:
    stream: ChatStream | CompletionStream | None = None
    for event in events:
        if stream is None:
            preamble = isinstance(event, dict) and "choices" not in event and "error" not in event
            stream = begin(event if preamble else {})
            if preamble:
                continue
        chunk = stream.step(event)
        if chunk is not None:
            yield chunk
            if "error" in chunk:
                return
