"""Which leading blocks each engine is taken to hold: those of the prompts that it was sent lately."""

from __future__ import annotations

from collections import OrderedDict

from renderlayer.pipeline.routing.blocks import Blocks


class Residency:
    """Block hashes by engine, each engine's as many as its cache holds; the least recently used go first.

    Engines are numbers from 0 on, which are bits of an integer: a prompt is looked up for all of them in one walk.

    Args:
        most: blocks that an engine holds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[int, OrderedDict[int, None]] = {}
        self._engines: dict[int, int] = {}

    def matched(self, blocks: Blocks) -> dict[int, int]:
        """How many leading blocks of a prompt each engine holds; without those that hold none."""
        found: dict[int, int] = {}
        holders = self._engines
        holding = holders.get(blocks[0], 0) if blocks else 0
        for at, block in enumerate(blocks):
            still = holders.get(block, 0) & holding
            if still != holding:
                _note(found, holding ^ still, at)
                holding = still
                if not still:
                    return found
        _note(found, holding, len(blocks))
        return found

    def add(self, engine: int, blocks: Blocks) -> None:
        """An engine is sent a prompt."""
        held = self._held.setdefault(engine, OrderedDict())
        bit, engines = 1 << engine, self._engines
        for block in reversed(blocks):  # the first blocks are the last to go, as in the engine
            if block in held:
                held.move_to_end(block)
            else:
                held[block] = None
                engines[block] = engines.get(block, 0) | bit
        while len(held) > self._most:
            self._drop(held.popitem(last=False)[0], bit)

    def remove(self, engine: int, blocks: Blocks) -> None:
        """An engine holds some blocks no more."""
        held = self._held.get(engine)
        for block in blocks:
            if held and block in held:
                del held[block]
                self._drop(block, 1 << engine)

    def forget(self, engine: int) -> None:
        """An engine holds nothing: it is gone, or was started anew."""
        for block in self._held.pop(engine, ()):
            self._drop(block, 1 << engine)

    def _drop(self, block: int, bit: int) -> None:
        left = self._engines[block] & ~bit
        if left:
            self._engines[block] = left
        else:
            del self._engines[block]


def _note(found: dict[int, int], engines: int, count: int) -> None:
    """So many blocks are what some engines hold, given as bits."""
    while engines:
        number = engines.bit_length() - 1
        found[number] = count
        engines ^= 1 << number
