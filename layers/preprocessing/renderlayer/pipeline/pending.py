"""Rendered requests that wait for the engine, and what drives them: the answer whole, or its chunks as they come.

What an endpoint makes of a request and of the engine's answers is plain code (`Pending`); waiting is done here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from renderlayer.errors import RenderLayerError

if TYPE_CHECKING:
    from renderlayer.wire.answers import GenerateRequest

Json = dict[str, Any]
R = TypeVar("R", bound=Mapping[str, Any])
# Does work that may take a while, such as in a worker thread.
Aside = Callable[[Callable[[], Any]], Awaitable[Any]]

CONCURRENCY = 16
"""Prompts of one request that are with the engine at a time."""
WAITING_EVENTS = 64
"""Events of several prompts that are held until they are read; the engine waits meanwhile."""

LONG_STEP = 256
"""Tokens of one event from which it is worth while to read them elsewhere."""


class Service(Protocol):
    """What generates: an engine (`Engine`), or several (`routing.pool.EnginePool`)."""

    async def generate(self, request: Mapping[str, Any], timeout: float | None = None) -> Json:
        """One whole answer."""
        ...

    def stream(self, request: Mapping[str, Any], timeout: float | None = None) -> AsyncGenerator[Json]:
        """The events of a streamed answer."""
        ...

    async def check(self) -> None:
        """Raise an error where nothing can be generated."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


@runtime_checkable
class Several(Service, Protocol):
    """Several engines as one."""

    def described(self) -> list[dict[str, str | int]]:
        """The engines and their states."""
        ...


class Pending(Protocol):
    """A request of one endpoint, rendered.

    Attributes:
        prompts: a GenerateRequest for each prompt.
        stream: whether the client asked for a stream.
    """

    prompts: list[GenerateRequest]
    stream: bool

    def whole(self, generated: Sequence[Json]) -> Json:
        """The answer, from the engine's answers to the prompts.

        Raises:
            ValidationFailed, BadRequest: they are not the engine's wire.
        """
        ...

    def step(self, prompt: int, event: Json) -> Sequence[Json]:
        """The chunks for one event of the engine's stream for a prompt.

        Raises:
            ValidationFailed, BadRequest: it is not the engine's wire.
        """
        ...

    def end(self) -> Sequence[Json]:
        """The chunks that follow when the engine has answered all prompts."""
        ...

    def failed(self, error: RenderLayerError) -> Sequence[Json]:
        """The last chunks of a stream in which something went wrong; raises the error where they cannot tell it."""
        ...


# (decoded body, server, X-Request-Id header) -> the request, rendered
Begin = Callable[[Any, Any, str | None], Pending]


async def generated(pending: Pending, engine: Service, timeout: float | None = None) -> list[Json]:
    """The engine's answers to the prompts, side by side; the first error ends them all."""
    return await side_by_side(pending.prompts, lambda prompt: engine.generate(prompt, timeout))


async def side_by_side(
    requests: Sequence[R], call: Callable[[R], Awaitable[Json]], most: int = CONCURRENCY
) -> list[Json]:
    """Answers to requests of which so many are under way at a time; the first error ends them all."""
    if len(requests) == 1:
        return [await call(requests[0])]
    turns = asyncio.Semaphore(most)

    async def answer(request: R) -> Json:
        async with turns:
            return await call(request)

    tasks = [asyncio.ensure_future(answer(request)) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _cancelled(tasks)


async def chunks(
    pending: Pending,
    engine: Service,
    timeout: float | None = None,
    run_blocking: Aside | None = None,
    seen: Callable[[Json], None] = lambda event: None,
    ended: Callable[[Literal["generate", "derender"], float], None] = lambda stage, seconds: None,
) -> AsyncGenerator[Json]:
    """The answer's chunks as the engine writes. Close the iterator (`contextlib.aclosing`): that stops the engine.

    Args:
        timeout: seconds that the engine may take in all.
        seen: is shown each event of the engine.
        ended: is told in the end how many seconds went into waiting for the engine, and into the chunks.
        aside: does the steps that are long; the others are done at once, since they cost less than a thread's turn.

    Raises:
        RenderLayerError: what `Pending.step` and the engine's client raise, where the API has no chunk for it.
    """
    began, derendering = time.perf_counter(), 0.0
    try:
        async with aclosing(_events(pending.prompts, engine, timeout)) as events:
            async for prompt, event in events:
                seen(event)
                step, at = partial(pending.step, prompt, event), time.perf_counter()
                found = await run_blocking(step) if run_blocking and _is_long(event) else step()
                derendering += time.perf_counter() - at
                for chunk in found:
                    yield chunk
        last = pending.end()
    except RenderLayerError as error:
        last = pending.failed(error)
    finally:
        ended("generate", time.perf_counter() - began - derendering)
        ended("derender", derendering)
    for chunk in last:
        yield chunk


async def complete(pending: Pending, engine: Service, timeout: float | None = None) -> Json | AsyncGenerator[Json]:
    """The whole answer, or for a stream its chunks."""
    if pending.stream:
        return chunks(pending, engine, timeout)
    return pending.whole(await generated(pending, engine, timeout))


def _is_long(event: Json) -> bool:
    """Whether the tokens of an event are so many that deriving a chunk from them would keep others waiting."""
    choices = event.get("choices")
    return (
        isinstance(choices, list)
        and sum(len(choice.get("token_ids") or ()) for choice in choices if isinstance(choice, dict)) > LONG_STEP
    )


async def _events(
    prompts: Sequence[GenerateRequest], engine: Service, timeout: float | None
) -> AsyncGenerator[tuple[int, Json]]:
    """The events of all prompts as they come, each with its prompt's number."""
    if len(prompts) == 1:
        async with aclosing(engine.stream(prompts[0], timeout)) as events:
            async for event in events:
                yield 0, event
        return
    arrived: asyncio.Queue[tuple[int, Json | Exception | None]] = asyncio.Queue(WAITING_EVENTS)
    turns = asyncio.Semaphore(CONCURRENCY)

    async def read(number: int, prompt: GenerateRequest) -> None:
        ended: Exception | None = None
        try:
            async with turns, aclosing(engine.stream(prompt, timeout)) as events:
                async for event in events:
                    await arrived.put((number, event))
        except Exception as error:
            ended = error
        await arrived.put((number, ended))

    tasks = [asyncio.ensure_future(read(*numbered)) for numbered in enumerate(prompts)]
    try:
        unfinished = len(tasks)
        while unfinished:
            number, item = await arrived.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                unfinished -= 1
            else:
                yield number, item
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """End what still runs, and wait until it has let go of its connections."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
