"""Ports for servers that must be told one; all others take port 0."""

from __future__ import annotations

import os
import random
import socket

RANGE = range(20_000, 30_000)
"""Below those that systems give out themselves: a client might get one of them between its choice and its use."""
_chance = random.Random(os.getpid())


def free_port() -> int:
    """A port of loopback on which nothing listens now, another in each process and call."""
    while True:
        port = _chance.choice(RANGE)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
