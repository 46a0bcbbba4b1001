"""Encoding an answer as named events, as the Responses and the Messages API stream it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from renderlayer.derender.core import checks
from renderlayer.derender.events.blocks import Action
from renderlayer.derender.events.sequence import Counts, EventSequence, Step
from renderlayer.errors import BadGateway, RenderLayerError
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse_at
from renderlayer.wire.derender import GenerateChunk, GenerateUsage

Json = dict[str, Any]
# {"event": name, "data": {...}}
Named = dict[str, Any]
# When the answer began (Unix seconds), the next sequence number, and phase and rest of a custom tool's input.
Memory = tuple[int, int, int, str]


def named(name: str, data: Mapping[str, Any]) -> Named:
    """An event; its name is its data's type, too."""
    return {"event": name, "data": {"type": name, **data}}


class EventEncoder(Protocol):
    """An API's way to tell an answer."""

    def begin(self, counts: Counts) -> list[Named]:
        """The opening events."""
        ...

    def encode(self, action: Action) -> list[Named]:
        """The events for what happens to a block."""
        ...

    def end(self, step: Step, called: bool, counts: Counts) -> list[Named]:
        """The closing events."""
        ...

    def failed(self, error: Json) -> Named:
        """The event for an error, given as an OpenAI error object."""
        ...

    def memory(self) -> Memory:
        """What it must know to go on in another call."""
        ...


@dataclass
class EventStream:
    """An answer on its way: from the engine's events to the API's.

    Attributes:
        begun, ended: whether the opening and the closing events have been told.
    """

    sequence: EventSequence
    encoder: EventEncoder
    server: ServedModel
    begun: bool = False
    ended: bool = False

    def step(self, chunk: GenerateChunk) -> list[Named]:
        """The events for one event of the engine.

        Raises:
            BadRequest: several choices, or more tokens than the context holds.
        """
        checks.check_one_choice(len(chunk.choices), "a stream of events")
        checks.check_chunk(chunk, self.server)
        counts = self.sequence.counts
        counts.cached = cached_tokens(chunk.usage, counts.cached)
        out = [] if self.begun else self.encoder.begin(counts)
        self.begun = True
        for choice in () if self.ended else chunk.choices:
            checks.check_total(counts.prompt + counts.output, len(choice.token_ids or ()), self.server)
            step = self.sequence.step(choice)
            out += [event for action in step.actions for event in self.encoder.encode(action)]
            if step.finish_reason is not None:
                out += self.encoder.end(step, self.sequence.blocks.called, counts)
                if self.sequence.sampled is not None:
                    out[-1]["data"]["prefix"] = self.sequence.sampled.digest(self.server)
                self.ended = True
        return out


class EventStreamEncoder:
    """A whole stream of the engine, told.

    An error of the engine, or one that is found after the first event was told, is told as the API tells errors, and
    ends the stream.

    Args:
        begin: makes the stream of the engine's first event.
    """

    def __init__(self, begin: Callable[[GenerateChunk], EventStream]) -> None:
        self._begin = begin
        self._stream: EventStream | None = None
        self.ended = False

    def step(self, event: Any) -> list[Named]:
        """The API's events for a decoded event of the engine.

        Raises:
            RenderLayerError: something is wrong before anything was told.
        """
        if self.ended:
            return []
        try:
            if isinstance(event, dict) and "error" in event:
                raise _EngineError(event["error"])
            chunk = parse_at(GenerateChunk, event, "generate_chunk")
            self._stream = self._stream or self._begin(chunk)
            out = self._stream.step(chunk)
        except RenderLayerError as error:
            return self.failed(error)
        self.ended = self._stream.ended
        return out

    def end(self) -> list[Named]:
        """What follows when the engine's stream has ended: nothing, unless the answer has not."""
        return [] if self.ended else self.failed(BadGateway("The engine's stream ended before the answer did."))

    def failed(self, error: RenderLayerError) -> list[Named]:
        """The event for an error that ends the stream.

        Raises:
            RenderLayerError: the error, where nothing was told before it.
        """
        if self._stream is None or not self._stream.begun:
            raise error
        if self.ended:
            return []
        self.ended = True
        return [self._stream.encoder.failed(error.body()["error"])]


def encode_stream(events: Iterable[Any], encoder: EventStreamEncoder) -> Iterator[Named]:
    """The API's events for all events of the engine, up to the end of the answer; errors as in `EventStreamEncoder`."""
    rest = iter(events)
    while not encoder.ended:
        try:
            event = next(rest)
        except StopIteration:
            out = encoder.end()
        except RenderLayerError as error:
            out = encoder.failed(error)
        else:
            out = encoder.step(event)
        yield from out


class _EngineError(RenderLayerError):
    """An error that the engine reports in its stream."""

    def __init__(self, error: Any) -> None:
        given = error if isinstance(error, dict) else {}
        super().__init__(str(given.get("message") or "The engine failed."))
        code = given.get("code")
        self.status = code if isinstance(code, int) and 400 <= code < 600 else 500
        self.type = str(given.get("type") or self.type)


def cached_tokens(usage: GenerateUsage | None, known: int | None = None) -> int | None:
    """Prompt tokens that came from the engine's cache, if it says; else what is known already."""
    details = (usage.prompt_tokens_details if usage else None) or {}
    cached = details.get("cached_tokens")
    return cached if isinstance(cached, int) else known


def prompt_length(given: int | None, usage: GenerateUsage | None, token_ids: Sequence[int] | None) -> int | None:
    """The prompt's length: the caller's count, the engine's, or that of its token ids."""
    if given is not None:
        return given
    if usage is not None and usage.prompt_tokens:
        return usage.prompt_tokens
    return None if token_ids is None else len(token_ids)
