"""Prometheus metrics of resolved references, in the registry of the process, where there is a client library.

The engine's /metrics shows them beside its own. Without `prometheus_client` nothing is counted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

Outcome = Literal["cached", "fetched", "missing", "refused", "unavailable"]

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What is counted; `metrics()` is the one of the process."""

    def resolved(self, outcome: Outcome, size: int = 0) -> None:
        """One reference came to an end, with so many bytes of base64."""

    def took(self, seconds: float) -> None:
        """The references of one request took so long, from the body's arrival to its resolution."""

    def holds(self, size: int) -> None:
        """The cache has so many bytes."""


class _Prometheus(Metrics):
    def __init__(self) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        name = "renderlayer_reference"
        self._count = Counter(f"{name}s", "References in generate requests, by outcome.", ["outcome"])
        self._bytes = Counter(f"{name}_bytes", "Bytes of base64 put in place of references, by source.", ["outcome"])
        self._seconds = Histogram(
            f"{name}_seconds", "Seconds in which a request's references were resolved.", buckets=_SECONDS
        )
        self._held = Gauge(
            f"{name}_cache_bytes", "Bytes of base64 that are kept in memory.", multiprocess_mode="livesum"
        )

    def resolved(self, outcome: Outcome, size: int = 0) -> None:
        self._count.labels(outcome).inc()
        if size:
            self._bytes.labels(outcome).inc(size)

    def took(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def holds(self, size: int) -> None:
        self._held.set(size)


@lru_cache(maxsize=1)
def metrics() -> Metrics:
    """The metrics of this process; made once, since a registry takes a name once."""
    try:
        return _Prometheus()
    except ImportError:
        return Metrics()
