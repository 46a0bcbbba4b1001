from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def fresh_log() -> Iterator[None]:
    """Lets a test's `AccessLogMiddleware` write where the test listens: its logger is configured once a process."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    logger = logging.getLogger("renderlayer")
    logger.handlers.clear()
    for mark in [name for name in vars(logger) if name == "init" or name.startswith("powertools_")]:
        delattr(logger, mark)
