"""The tables of docs/cost.md, out of measured figures (docs/performance.md) and list prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infra.capacity.costs import BILLION, MILLION, Call, break_even
from infra.capacity.simulation import Load, simulate

ANSWER_SECONDS = 5.12
"""512 tokens at 100 a second."""
SMALL = 512
"""MB of functions that wait."""
COLD_SECONDS = 0.35
TASK_RATE = 300.0
"""Short chats a second that one processor renders in a container, at two thirds of what it could (2.1 ms each)."""
RATES = (1_000, 10_000, 100_000)

SHORT = Call("render, short chat", 0.43, 42)
LONG = Call("render, chat of 7,529 tokens", 5.7, 7529)
DERENDER = Call("derender of 512 tokens", 1.7, 512)
WAITING = Call("front door, answer of 512 tokens in 5.12 s", ANSWER_SECONDS * 1000 + 3, 554)
LEAN = Call(f"the same with {SMALL} MB", ANSWER_SECONDS * 1000 + 3, 554, SMALL)
STREAMED = Call(
    f"the same with {SMALL} MB through a REST API, streamed", ANSWER_SECONDS * 1000 + 3, 554, SMALL, "RestApi"
)
CALLS = (SHORT, LONG, DERENDER, WAITING, LEAN, STREAMED)


def prices() -> str:
    """Dollars a million requests, by where they go, and a billion tokens."""
    rows = []
    for call in CALLS:
        parts = [f"{value * MILLION:.2f}" for value in call.parts.values()]
        total, tokens = f"{call.dollars * MILLION:.2f}", f"{call.dollars / call.tokens * BILLION:.2f}"
        rows.append([call.name, *parts, total, tokens])
    return table(["call", "front", "invocations", "compute", "$ a million requests", "$ a billion tokens"], rows)


def concurrency() -> str:
    """Busy environments on average, by requests a second."""
    rows = [[call.name, *(f"{ceiling(call.concurrency(rate)):,}" for rate in RATES)] for call in CALLS[:4]]
    return table(["call", *(f"{rate:,} a second" for rate in RATES)], rows)


def containers() -> str:
    """From which rate on containers cost less."""
    rows = []
    for call, rate in ((SHORT, TASK_RATE), (LONG, TASK_RATE / 4), (DERENDER, TASK_RATE)):
        found = break_even(call, rate)
        rows.append([call.name, f"{found:.0f}", f"{found * 3600 * 24 * 30 / MILLION:.0f} million"])
    return table(["call", "requests a second", "a month"], rows)


def simulated() -> str:
    """Bursts, steady load and a full engine."""
    loads = {
        "200 renders a second from nothing": Load(200, 30, 0.001, COLD_SECONDS),
        "1,000 renders a second from nothing": Load(1000, 20, 0.001, COLD_SECONDS),
        "the same, 10 kept warm": Load(1000, 20, 0.001, COLD_SECONDS, warm=10),
        "100 answers a second, 600 slots": Load(100, 60, 0.003, COLD_SECONDS, ANSWER_SECONDS, 600),
        "100 answers a second, 500 slots": Load(100, 60, 0.003, COLD_SECONDS, ANSWER_SECONDS, 500),
        "300 answers a second, any number of slots": Load(300, 60, 0.003, COLD_SECONDS, ANSWER_SECONDS),
    }
    rows = []
    for name, load in loads.items():
        seen = simulate(load)
        shares = [f"{count / (len(seen.waits) + seen.refused):.2%}" for count in (seen.cold, seen.refused)]
        waits = [f"{seen.percentile(share) * 1000:,.0f}" for share in (0.5, 0.99)]
        rows.append([name, f"{seen.busiest:,}", *shares, *waits])
    return table(["load", "most environments", "cold", "refused (429)", "p50 ms", "p99 ms"], rows)


TABLES = {"prices": prices, "concurrency": concurrency, "containers": containers, "simulated": simulated}


def ceiling(value: float) -> int:
    return max(1, -(-round(value * 1000) // 1000))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
