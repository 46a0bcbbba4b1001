"""Costs in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from infra.capacity.prices import API, BALANCER_HOUR, GB_HOUR, GB_SECOND, REQUEST, UNIT_HOUR, VCPU_HOUR

MILLION, BILLION = 1_000_000, 1_000_000_000
WHOLE_PROCESSOR = 1769
"""MB of memory with which a function has one processor."""


@dataclass(frozen=True)
class Call:
    """One kind of request to a function.

    Attributes:
        milliseconds: that the function takes, waiting included.
        tokens: that it renders or derenders.
        memory: of the function, in MB.
        front: what stands before it.
    """

    name: str
    milliseconds: float
    tokens: int
    memory: int = WHOLE_PROCESSOR
    front: str = "HttpApi"
    architecture: str = "x86_64"

    @property
    def gb_seconds(self) -> float:
        """What one call is billed for: whole milliseconds, rounded up."""
        return self.memory / 1024 * ceil(self.milliseconds) / 1000

    @property
    def parts(self) -> dict[str, float]:
        """Dollars of one call by where they go."""
        return {
            "front": API[self.front],
            "requests": REQUEST,
            "compute": self.gb_seconds * GB_SECOND[self.architecture],
        }

    @property
    def dollars(self) -> float:
        """Dollars of one call."""
        return sum(self.parts.values())

    def concurrency(self, rate: float) -> float:
        """Environments that are busy on average at so many requests a second (Little's law)."""
        return rate * self.milliseconds / 1000


def fleet_hour(tasks: int, vcpus: float = 1, gigabytes: float = 2, units: float = 1) -> float:
    """Dollars an hour of containers behind a load balancer.

    Args:
        tasks: containers, each of so many processors and gigabytes.
        units: capacity units of the load balancer.
    """
    return tasks * (vcpus * VCPU_HOUR + gigabytes * GB_HOUR) + BALANCER_HOUR + units * UNIT_HOUR


def break_even(call: Call, rate_of_a_task: float, least: int = 2) -> float:
    """Requests a second above which containers cost less than functions.

    Args:
        rate_of_a_task: requests a second that one container answers.
        least: containers that run whatever comes.
    """
    for tasks in range(least, 10_000):
        rate = fleet_hour(tasks) / (call.dollars * 3600)
        if rate <= tasks * rate_of_a_task:
            return rate
    raise ValueError("functions cost less at any rate")
