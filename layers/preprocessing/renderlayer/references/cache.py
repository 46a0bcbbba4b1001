"""Payloads in memory, in base64, within a limit: shared by the requests that need them, then kept while there is room.

A request is admitted when everything that it needs fits beside what the admitted ones hold, and waits in line until
then. It never waits while it holds something, so requests cannot block each other. Used from one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from renderlayer.errors import PayloadTooLarge
from renderlayer.references.address import Address
from renderlayer.references.fetch import Pieces


@dataclass(eq=False)
class Entry:
    """A payload that is here or on its way.

    Attributes:
        size: bytes that it takes.
        pieces: its content, or why it did not come.
        holders: leases that it is part of.
    """

    size: int
    pieces: asyncio.Future[Pieces]
    holders: int = 0

    @property
    def idle(self) -> bool:
        return not self.holders and self.pieces.done()


class Lease:
    """The payloads of one request, held until it is released.

    Attributes:
        entries: by address.
        fresh: addresses whose content the holder has to bring (`Cache.bring`).
    """

    def __init__(self, cache: Cache, entries: Mapping[Address, Entry], fresh: Collection[Address]) -> None:
        self.entries = entries
        self.fresh = fresh
        self._cache = cache
        for entry in entries.values():
            entry.holders += 1

    def release(self) -> None:
        """Give everything back; a second call does nothing."""
        for entry in self.entries.values():
            entry.holders -= 1
        self.entries = {}
        self._cache.freed.set()


class Cache:
    """The payloads.

    Args:
        limit: bytes of base64 that are in memory at most, used and unused ones together.

    Attributes:
        used: bytes in memory.
        freed: set whenever there may be more room.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.freed = asyncio.Event()
        self._entries: dict[Address, Entry] = {}  # the least recently used first
        self._turn = asyncio.Lock()

    def __contains__(self, address: Address) -> bool:
        return address in self._entries

    async def lease(self, sizes: Mapping[Address, int | None]) -> Lease | None:
        """Hold the payloads of a request, in its turn.

        Args:
            sizes: bytes of each; None for one that was here a moment ago.

        Returns:
            None when one of unknown size is not here any more.

        Raises:
            PayloadTooLarge: they would not fit if they were alone.
        """
        async with self._turn:
            while True:
                known = {address: self._size(address, size) for address, size in sizes.items()}
                needed = {address: size for address, size in known.items() if size is not None}
                if len(needed) < len(known):
                    return None
                if sum(needed.values()) > self.limit:
                    raise PayloadTooLarge(f"References of one request may have {self.limit} bytes in base64 together.")
                fresh = {address: size for address, size in needed.items() if address not in self._entries}
                if self._make_room(sum(fresh.values()), needed):
                    return self._leased(needed, fresh)
                self.freed.clear()
                await self.freed.wait()

    def bring(self, address: Address, outcome: Pieces | Exception) -> None:
        """Fill in an entry that a lease created, or drop it."""
        entry = self._entries[address]
        if isinstance(outcome, Exception):
            entry.pieces.set_exception(outcome)
            entry.pieces.exception()  # nobody may be left to look at it
            self._drop(address)
        else:
            entry.pieces.set_result(outcome)
        self.freed.set()

    def _size(self, address: Address, size: int | None) -> int | None:
        entry = self._entries.get(address)
        return entry.size if entry else size

    def _make_room(self, size: int, needed: Collection[Address]) -> bool:
        """Drop idle payloads, the least recently used first, if that makes room; none of those that are needed."""
        idle = [address for address, entry in self._entries.items() if entry.idle and address not in needed]
        spare = self.limit - self.used
        dropped: list[Address] = []
        while spare < size and idle:
            dropped.append(idle.pop(0))
            spare += self._entries[dropped[-1]].size
        if spare < size:
            return False
        for address in dropped:
            self._drop(address)
        return True

    def _leased(self, needed: Mapping[Address, int], fresh: Mapping[Address, int]) -> Lease:
        loop = asyncio.get_running_loop()
        entries = {
            address: Entry(size, loop.create_future()) if address in fresh else self._entries.pop(address)
            for address, size in needed.items()
        }
        self._entries |= entries
        self.used += sum(fresh.values())
        return Lease(self, entries, fresh)

    def _drop(self, address: Address) -> None:
        self.used -= self._entries.pop(address).size
