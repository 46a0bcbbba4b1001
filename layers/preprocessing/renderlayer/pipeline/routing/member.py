"""One engine of a pool: its client, what it has to do, and whether it is left out."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from renderlayer.errors import RenderLayerError
from renderlayer.pipeline import engine_states
from renderlayer.pipeline.routing.policy import State

if TYPE_CHECKING:
    from renderlayer.pipeline.engine import Engine
    from renderlayer.pipeline.routing.addresses import Place

PROBE_SECONDS = 0.5
"""How long an engine may take to say that it is well."""
ATTEMPTS = 2
"""Questions without an answer after which it is left out."""
LAG_SECONDS = 0.1
"""Delay of this process's own event loop from which a late answer says nothing of the engine."""
INTERVAL = 0.4
"""Seconds between two rounds of such questions, while requests are under way."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds after which an engine that was left out is asked again, doubled each time."""

logger = logging.getLogger(__name__)


class Member:
    """One engine.

    Args:
        place: where it is.
        number: that of its blocks.
        engine: its client.

    Attributes:
        state: what the policy knows of it.
        out: why it is left out, "" while it is not.
        requests: how many it has not answered yet.
    """

    def __init__(self, place: Place, number: int, engine: Engine) -> None:
        self.place = place
        self.number = number
        self.engine = engine
        self.state = State(engine.name)
        self.out = ""
        self.requests = 0
        self._pause = FIRST_PAUSE
        self._next = 0.0
        self._tell()

    def begin(self, tokens: int) -> None:
        """It has a request more to answer, which is so many tokens."""
        self.requests += 1
        self.state.outstanding += tokens
        self._tell()

    def end(self, tokens: int) -> None:
        """It has a request less."""
        self.requests -= 1
        self.state.outstanding -= tokens
        self._tell()

    def leave_out(self, why: str) -> None:
        """Send it nothing until it says that it is well."""
        if self.out:
            return
        self.out, self._pause = why, FIRST_PAUSE
        self._next = asyncio.get_running_loop().time() + self._pause
        logger.warning("engine %s is left out: %s", self.state.name, why)
        self._tell()

    async def probe(self) -> bool:
        """Ask whether it is well, if it is time to; whether it just came back."""
        clock = asyncio.get_running_loop().time
        if clock() < self._next:
            return False
        self._next = clock() + INTERVAL
        for _ in range(1 if self.out else ATTEMPTS):
            began = clock()
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    await self.engine.check()
            except RenderLayerError as error:
                self._unwell(error.message)
                return False
            except TimeoutError:
                if clock() - began > PROBE_SECONDS + LAG_SECONDS:
                    return False
                continue
            return self._well()
        self._unwell(f"/health takes more than {PROBE_SECONDS} s.")
        return False

    def _well(self) -> bool:
        if not self.out:
            return False
        logger.warning("engine %s is well again", self.state.name)
        self.out = ""
        self._tell()
        return True

    def _unwell(self, why: str) -> None:
        if self.out:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            self._next = asyncio.get_running_loop().time() + self._pause
        else:
            self.leave_out(why)

    def described(self) -> dict[str, str | int]:
        """Its state, as `/readyz?engines=true` tells it."""
        return {
            "engine": self.state.name,
            "state": "left out" if self.out else "up",
            **({"reason": self.out} if self.out else {}),
            "outstanding_tokens": self.state.outstanding,
        }

    def gone(self) -> None:
        """Its address is no more among those of its name."""
        engine_states.tell(self.state.name, None, 0)

    def _tell(self) -> None:
        engine_states.tell(self.state.name, not self.out, self.state.outstanding)
