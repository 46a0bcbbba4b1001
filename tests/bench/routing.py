"""`python -m tests.bench.routing`: how much of the prompts several engines find in their caches, by who chooses them.

A simulation: chats of several turns, with shared system prompts, come to eight engines with prefix caches of limited
size. Every policy gets the same requests; the next turn of a chat comes when the last one is answered and its reader
has thought. Ours is the code that serves; the others are built from what their projects publish.
"""

from __future__ import annotations

import argparse
import heapq
import random
import re
import timeit
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from renderlayer.pipeline.routing import policy
from renderlayer.pipeline.routing.blocks import BLOCK, Blocks, blocks_of, hashed
from renderlayer.pipeline.routing.policy import POLICIES, Policy, State
from renderlayer.pipeline.routing.residency import Residency

PAGE = Path(__file__).resolve().parents[2] / "docs/routing.md"
ENGINES = 8
CHATS = 1600
RATE = 4.0
"""Chats that begin each second."""
PREFILL = 12_000.0
"""Tokens of prompts that an engine computes in a second, one prompt after the other."""
STEP = 0.025
"""Seconds between two tokens of an answer; all answers of an engine are written side by side."""
CACHE = 150_000
"""Tokens that an engine's cache holds."""
VOCABULARY = 150_000


@dataclass
class Turn:
    """One request: its prompt's blocks, its size, and when it comes after the last one's answer."""

    blocks: Blocks
    tokens: int
    answer: int
    thinking: float


@dataclass
class Chat:
    begins: float
    turns: list[Turn]


def trace(seed: int = 20, chats: int = CHATS, rate: float = RATE) -> list[Chat]:
    """Chats: one of 12 system prompts each, the first ones most often; 1 to 20 turns; what readers write and engines
    answer is of very different lengths, as logarithms of normal numbers are."""
    chance = random.Random(seed)
    systems = [_tokens(chance, chance.randrange(200, 6000)) for _ in range(12)]
    weights = [1 / (rank + 1) for rank in range(len(systems))]
    found, now = [], 0.0
    for _ in range(chats):
        now += chance.expovariate(rate)
        prompt, turns = list(chance.choices(systems, weights)[0]), []
        for _ in range(min(20, 1 + int(chance.expovariate(1 / 5)))):
            prompt += _tokens(chance, min(8000, int(chance.lognormvariate(4.6, 1.2))))
            answer = max(1, min(2000, int(chance.lognormvariate(5.3, 0.8))))
            thinking = min(300.0, chance.lognormvariate(2.7, 0.9))
            turns.append(Turn(hashed(prompt), len(prompt), answer, thinking))
            prompt += _tokens(chance, answer)
            if len(prompt) > 32_000:
                break
        found.append(Chat(now, turns))
    return found


def _tokens(chance: random.Random, count: int) -> list[int]:
    return [int(chance.random() * VOCABULARY) for _ in range(count)]


class Cache:
    """An engine's prefix cache: blocks, of which the least recently used go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[int, None] = OrderedDict()

    def matched(self, blocks: Blocks) -> int:
        """Leading blocks that are held."""
        for at, block in enumerate(blocks):
            if block not in self._held:
                return at
        return len(blocks)

    def use(self, blocks: Blocks) -> None:
        for block in reversed(blocks):
            self._held[block] = None
            self._held.move_to_end(block)
        while len(self._held) > self._most:
            self._held.popitem(last=False)

    @property
    def share(self) -> float:
        return len(self._held) / self._most


@dataclass
class Engine:
    """What a chooser may know: the cache (by events), and requests that wait, run, and have not ended."""

    cache: Cache
    state: State
    free_at: float = 0.0
    work: float = 0.0
    waiting: deque[float] = field(default_factory=deque)
    prefilling: int = 0
    running: int = 0
    blocks: int = 0


Choose = Callable[[Turn, Sequence[Engine]], int]


@dataclass
class Result:
    """What a policy came to.

    Attributes:
        cached: share of the prompts' tokens that were found in a cache.
        work: most work of an engine over the mean of all: prefill that was computed and answers that were written.
        outstanding: the same of outstanding tokens, the mean over the requests' arrivals.
        first_token: seconds from a request to its first token, of 99 in 100 at most.
    """

    cached: float
    work: float
    outstanding: float
    first_token: float


def simulate(chats: Sequence[Chat], choose: Choose, cache_tokens: int = CACHE) -> tuple[Result, list[Turn]]:
    """Run the trace; the turns in the order in which they came."""
    engines = [Engine(Cache(cache_tokens // BLOCK), State(f"http://engine-{at}:8000")) for at in range(ENGINES)]
    queue: list[tuple[float, int, int, int]] = []  # time, order, chat or engine, turn or -1
    order = 0
    for number, chat in enumerate(chats):
        heapq.heappush(queue, (chat.begins, order := order + 1, number, 0))
    ends: dict[int, tuple[int, Turn, bool]] = {}
    found = asked = 0
    ratios: list[float] = []
    waits: list[float] = []
    arrived: list[Turn] = []
    while queue:
        now, key, number, at = heapq.heappop(queue)
        if at < 0:  # a prefill or an answer has ended
            chosen, turn, is_answer = ends.pop(key)
            engine = engines[chosen]
            if is_answer:
                engine.state.outstanding -= number
                engine.running -= 1
                engine.blocks -= len(turn.blocks)
            else:
                engine.prefilling -= number
                engine.cache.use(turn.blocks)
            continue
        turn = chats[number].turns[at]
        arrived.append(turn)
        for engine in engines:
            while engine.waiting and engine.waiting[0] <= now:
                engine.waiting.popleft()
        chosen = choose(turn, engines)
        engine = engines[chosen]
        hit = min(engine.cache.matched(turn.blocks) * BLOCK, turn.tokens - 1)
        found, asked = found + hit, asked + turn.tokens
        begins = max(now, engine.free_at)
        engine.free_at = first = begins + (turn.tokens - hit) / PREFILL
        ended = first + turn.answer * STEP
        engine.waiting.append(begins)
        engine.work += (turn.tokens - hit) / PREFILL + turn.answer * STEP / 16
        weight = policy.weight(turn.tokens, hit // BLOCK)
        engine.state.outstanding += weight
        engine.prefilling += turn.tokens - hit
        engine.running += 1
        engine.blocks += len(turn.blocks)
        waits.append(first - now)
        for when, is_answer, about in ((first, False, turn.tokens - hit), (ended, True, weight)):
            heapq.heappush(queue, (when, order := order + 1, about, -1))
            ends[order] = (chosen, turn, is_answer)
        if at + 1 < len(chats[number].turns):
            heapq.heappush(queue, (ended + turn.thinking, order := order + 1, number, at + 1))
        loads = [engine.state.outstanding for engine in engines]
        ratios.append(max(loads) * ENGINES / sum(loads))
    work = [engine.work for engine in engines]
    result = Result(
        found / asked,
        max(work) * ENGINES / sum(work),
        sum(ratios) / len(ratios),
        sorted(waits)[int(0.99 * len(waits))],
    )
    return result, arrived


def serving(chooses: Policy, cache_tokens: int = CACHE) -> Choose:
    """One of our policies, with what it takes engines to hold."""
    residency = Residency(cache_tokens // BLOCK)
    count = 0

    def choose(turn: Turn, engines: Sequence[Engine]) -> int:
        nonlocal count
        count += 1
        matched = residency.matched(turn.blocks)
        for at, engine in enumerate(engines):
            engine.state.matched = matched.get(at, 0)
        states = [engine.state for engine in engines]
        state = chooses(turn.blocks, turn.tokens, states)
        state.chosen = count
        chosen = next(at for at, one in enumerate(states) if one is state)
        residency.add(chosen, turn.blocks)
        return chosen

    return choose


def llm_d(precise: bool, weights: tuple[float, float, float] = (3, 2, 2)) -> Choose:
    """llm-d's default profile: the best sum of scores from 0 to 1: prefix cache (3), queue (2), KV utilization (2).

    The prefix score is the matched share of the prompt's blocks: those that it sent there (an LRU of 31,250 blocks of
    16 tokens an engine), or for the precise scorer those that the engine's events tell. The queue score falls from 1
    for the shortest to 0 for the longest queue. Sources: gateway-api-inference-extension.sigs.k8s.io, "Prefix Cache
    Aware Plugin"; llm-d.ai, "Inference scheduling".
    """
    residency = Residency(31_250 * 16 // BLOCK)
    chance = random.Random(1)

    def choose(turn: Turn, engines: Sequence[Engine]) -> int:
        guessed = residency.matched(turn.blocks)
        queues = [len(engine.waiting) for engine in engines]
        low, high = min(queues), max(queues)
        scores = []
        for at, engine in enumerate(engines):
            matched = engine.cache.matched(turn.blocks) if precise else guessed.get(at, 0)
            prefix = matched / max(1, len(turn.blocks))
            queue = 1.0 if high == low else (high - queues[at]) / (high - low)
            usage = min(1.0, engine.blocks * BLOCK / CACHE)
            scores.append(weights[0] * prefix + weights[1] * queue + weights[2] * (1 - usage))
        best = max(scores)
        chosen = chance.choice([at for at, score in enumerate(scores) if score == best])
        residency.add(chosen, turn.blocks)
        return chosen

    return choose


def dynamo(turn: Turn, engines: Sequence[Engine]) -> int:
    """Dynamo's KV router: the least of overlap weight (1) x blocks to prefill + blocks under way, at temperature 0.

    Which blocks an engine holds is told by its events. Source: docs.nvidia.com/dynamo, "KV Router", "Cost Function".
    """
    costs = []
    for engine in engines:
        new = turn.tokens - engine.cache.matched(turn.blocks) * BLOCK
        costs.append((engine.prefilling + new) / BLOCK + engine.blocks + len(turn.blocks))
    return min(range(len(engines)), key=costs.__getitem__)


def bound(arrived: Sequence[Turn], cache_tokens: int = CACHE) -> float:
    """What no policy can exceed: one cache as large as all together, which drops what is needed last (Belady, 1966).

    Whatever eight caches hold, this one could hold it, too; and it knows what comes. So it is above what is possible.
    """
    uses: dict[int, deque[int]] = {}
    for at, turn in enumerate(arrived):
        for block in turn.blocks:
            uses.setdefault(block, deque()).append(at)
    held: dict[int, int] = {}
    furthest: list[tuple[int, int]] = []
    most, found, asked = ENGINES * cache_tokens // BLOCK, 0, 0
    for turn in arrived:
        asked += turn.tokens
        matched, whole = 0, True
        for block in turn.blocks:
            whole = whole and block in held
            matched += whole
            following = uses[block]
            following.popleft()
            if following:
                held[block] = following[0]
                heapq.heappush(furthest, (-following[0], block))
            else:
                held.pop(block, None)
        found += min(matched * BLOCK, turn.tokens - 1)
        while len(held) > most:
            when, block = heapq.heappop(furthest)
            if held.get(block) == -when:
                del held[block]
    return found / asked


def choosers() -> Iterator[tuple[str, Choose]]:
    yield "round robin", serving(POLICIES["round-robin"])
    yield "least outstanding", serving(POLICIES["least-outstanding"])
    yield "rendezvous (functions)", serving(POLICIES["rendezvous"])
    yield "prefix affinity (default)", serving(POLICIES["prefix-affinity"])
    yield "llm-d, prefix scorer", llm_d(precise=False)
    yield "llm-d, precise prefix scorer", llm_d(precise=True)
    yield "Dynamo, KV router", dynamo


def cost(tokens: int = 8_000, engines: int = 64) -> float:
    """Seconds of a choice, hashing included: the least of many."""
    chance = random.Random(3)
    prompt = _tokens(chance, tokens)
    request = {"token_ids": prompt, "model": "qwen3-8b", "features": None}
    residency, states = Residency(1 << 20), [State(f"http://engine-{at}:8000", at) for at in range(engines)]
    for at in range(engines):
        residency.add(at, blocks_of({**request, "token_ids": prompt[: at * tokens // engines]}))

    def choose() -> None:
        blocks = blocks_of(request)
        matched = residency.matched(blocks)
        for at, state in enumerate(states):
            state.matched = matched.get(at, 0)
        POLICIES["prefix-affinity"](blocks, tokens, states)

    return min(timeit.repeat(choose, number=20, repeat=50)) / 20


def rows(chats: Sequence[Chat]) -> Iterator[tuple[str, Result, float]]:
    """Name, what it came to, and the bound of the order in which its requests came."""
    for name, choose in choosers():
        result, arrived = simulate(chats, choose)
        yield name, result, bound(arrived)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.routing", description=__doc__)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--chats", type=int, default=CHATS)
    parser.add_argument("--rate", type=float, default=RATE, help="chats that begin each second")
    parser.add_argument("--write", action="store_true", help="the table into docs/routing.md")
    given = parser.parse_args()
    told = table(trace(given.seed, given.chats, given.rate))
    print(f"{told}\n\na choice among 64 engines, 8,000 tokens: {cost() * 1e6:.0f} us")
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        marked = r"(<!-- routing -->\n).*?(<!-- /routing -->)"
        PAGE.write_text(re.sub(marked, rf"\g<1>{told}\n\g<2>", page, flags=re.DOTALL), encoding="utf-8")


def table(chats: Sequence[Chat]) -> str:
    """Markdown."""
    lines = [
        "| policy | cached | of the best | work | outstanding | first token, 99 in 100 |",
        "|---|---|---|---|---|---|",
    ]
    for name, result, best in rows(chats):
        figures = f"{result.cached:.1%} | {result.cached / best:.2f} | {result.work:.2f} | {result.outstanding:.2f}"
        lines.append(f"| {name} | {figures} | {result.first_token:.2f} s |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
