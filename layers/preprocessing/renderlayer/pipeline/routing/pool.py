"""Several engines as one: each request goes to the one that a policy chooses, and once to another if that is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from contextvars import Context
from typing import Any

from renderlayer.pipeline.engine import Engine
from renderlayer.pipeline.engine_answers import EngineLost, StreamCut
from renderlayer.pipeline.routing.addresses import Place, is_name, places
from renderlayer.pipeline.routing.blocks import BLOCK, Blocks, blocks_of
from renderlayer.pipeline.routing.member import INTERVAL, Member
from renderlayer.pipeline.routing.policy import Policy, weight
from renderlayer.pipeline.routing.residency import Residency

RESOLVE_SECONDS = 10.0
"""How long the addresses of names are believed."""
ENGINES = 1024
"""Most engines of a pool."""

Json = dict[str, Any]


class EnginePool:
    """Engines that are called as one (`Service`), in one event loop at a time.

    An engine that cannot be reached, answers 502, 503 or 504, or is silent when asked for its health is left out, until
    it says that it is well. While all are left out, all are tried.

    Args:
        urls: base URLs; a name with several addresses stands for several engines, looked up again every ten seconds.
        client: makes the client of an engine.
        policy: chooses.
        looks: whether the policy asks what engines hold.
        cache_tokens: how many tokens an engine's prefix cache is taken to hold.
    """

    def __init__(
        self,
        urls: Sequence[str],
        client: Callable[[Place], Engine],
        policy: Policy,
        looks: bool = True,
        cache_tokens: int = 500_000,
    ) -> None:
        self._urls = list(urls)
        self._client = client
        self._policy = policy
        self._looks = looks
        self._residency = Residency(max(1, cache_tokens // BLOCK))
        self._members: list[Member] = []
        self._by_state: dict[int, Member] = {}
        self._names = any(map(is_name, urls))
        self._looked_up = -RESOLVE_SECONDS
        self._looking_up = asyncio.Lock()
        self._choices = 0
        self._under_way = 0
        self._keeper: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        if not self._names:
            self._take([(url, "") for url in self._urls])

    async def generate(self, request: Mapping[str, Any], timeout: float | None = None) -> Json:
        """One whole answer, as `Engine.generate` gives it."""
        await self._ready()
        left, tried = _seconds_left(timeout), None
        while True:
            async with self._sent(request, tried) as member:
                try:
                    return await member.engine.generate(request, left())
                except EngineLost as lost:
                    member.leave_out(lost.message)
                    if tried is not None or len(self._members) == 1:
                        raise
            tried = member

    async def stream(self, request: Mapping[str, Any], timeout: float | None = None) -> AsyncGenerator[Json]:
        """The events of a streamed answer, as `Engine.stream` gives them; all of them are one engine's."""
        await self._ready()
        left, tried = _seconds_left(timeout), None
        while True:
            given = False
            async with self._sent(request, tried) as member:
                try:
                    async with aclosing(member.engine.stream(request, left())) as events:
                        async for event in events:
                            given = True
                            yield event
                    return
                except (EngineLost, StreamCut) as lost:
                    member.leave_out(lost.message)
                    if given or tried is not None or len(self._members) == 1:
                        raise
            tried = member

    async def check(self) -> None:
        """Ask whether engines are well, until one is.

        Raises:
            Unavailable, BadGateway: none is; that of the last one.
        """
        await self._ready()
        for member in sorted(self._members, key=lambda one: bool(one.out)):
            try:
                await member.engine.check()
                return
            except EngineLost as lost:
                last = lost
        raise last

    def described(self) -> list[dict[str, str | int]]:
        """The engines and their states."""
        return [member.described() for member in self._members]

    async def aclose(self) -> None:
        """Close the connections to all of them."""
        await self._stop()
        await asyncio.gather(*(member.engine.aclose() for member in self._members), *self._closing)

    @asynccontextmanager
    async def _sent(self, request: Mapping[str, Any], other_than: Member | None) -> AsyncIterator[Member]:
        """Choose an engine and count what it has to do, until that is done."""
        member, tokens = self.choose(request, other_than)
        member.begin(tokens)
        self._under_way += 1
        if len(self._members) > 1 or self._names:
            self._keep()
        try:
            yield member
        finally:
            member.end(tokens)
            self._under_way -= 1
            if not self._under_way:
                await self._stop()

    def choose(self, request: Mapping[str, Any], other_than: Member | None = None) -> tuple[Member, int]:
        """The engine for a request, which is noted as its holder, and how many tokens it has to do more."""
        if len(self._members) == 1:
            return self._members[0], weight(len(request["token_ids"]), 0)
        members = [one for one in self._members if not one.out and one is not other_than]
        if not members:
            members = [one for one in self._members if one is not other_than]
        blocks = blocks_of(request)
        if self._looks:
            matched = self._residency.matched(blocks)
            for member in members:
                member.state.matched = matched.get(member.number, 0)
        state = self._policy(blocks, len(request["token_ids"]), [member.state for member in members])
        return self._chosen(self._by_state[id(state)], blocks), weight(len(request["token_ids"]), state.matched)

    def _chosen(self, member: Member, blocks: Blocks) -> Member:
        self._choices += 1
        member.state.chosen = self._choices
        if self._looks:
            self._residency.add(member.number, blocks)
        return member

    async def _ready(self) -> None:
        """Look names up the first time; later that is done beside the requests."""
        if not self._members:
            async with self._looking_up:
                if not self._members:
                    await self._look_up()

    async def _look_up(self) -> None:
        now = asyncio.get_running_loop().time()
        if not self._names or now - self._looked_up < RESOLVE_SECONDS:
            return
        self._looked_up = now
        self._take(await places(self._urls, [member.place for member in self._members]))

    def _take(self, found: Sequence[Place]) -> None:
        """Go on with these engines; those that stay keep what is known of them."""
        found = found[:ENGINES]
        before = {member.place: member for member in self._members}
        numbers = iter(sorted(set(range(ENGINES * 2)) - {member.number for member in self._members}))
        self._members = [before.get(place) or Member(place, next(numbers), self._client(place)) for place in found]
        self._by_state = {id(member.state): member for member in self._members}
        for place in before.keys() - set(found):
            left = before[place]
            left.gone()
            self._residency.forget(left.number)
            task = asyncio.get_running_loop().create_task(self._close(left))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _close(self, member: Member) -> None:
        """Close the connections to an engine once its last answer is given."""
        while member.requests:
            await asyncio.sleep(INTERVAL)
        await member.engine.aclose()

    def _keep(self) -> None:
        """Have the engines looked after, while requests are under way."""
        loop = asyncio.get_running_loop()
        if self._keeper is None or self._keeper.done() or self._keeper.get_loop() is not loop:
            self._keeper = loop.create_task(self._look_after(), context=Context())  # not this request's end and trace

    async def _stop(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None and keeper.get_loop() is asyncio.get_running_loop():
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    async def _look_after(self) -> None:
        while True:
            await self._look_up()
            back = await asyncio.gather(*(member.probe() for member in self._members))
            for member, is_back in zip(self._members, back, strict=False):
                if is_back:  # with an empty cache, if it was started anew
                    self._residency.forget(member.number)
            await asyncio.sleep(INTERVAL)


def _seconds_left(timeout: float | None) -> Callable[[], float | None]:
    """What is left of so many seconds, which begin now."""
    now = asyncio.get_running_loop().time
    end = None if timeout is None else now() + timeout
    return lambda: None if end is None else max(end - now(), 0.0)
