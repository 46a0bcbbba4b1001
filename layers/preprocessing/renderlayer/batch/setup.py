"""The steps as the settings describe them; each is made once in a process."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from renderlayer.batch.steps.dead_letters import DeadLetterHandler
from renderlayer.batch.steps.join import Joiner
from renderlayer.batch.steps.running import LineEndpoint
from renderlayer.batch.steps.sharder import Limits
from renderlayer.batch.steps.split import Splitter
from renderlayer.batch.steps.work import Worker
from renderlayer.batch.storage.queue import Queue
from renderlayer.errors import ConfigurationError
from renderlayer.settings import PREFIX, Settings
from renderlayer.storage.bucket import Bucket


@cache
def splitter() -> Splitter:
    settings = Settings.from_environment()
    return Splitter(
        _bucket(settings),
        Queue(required(settings, "batch_split_queue")),
        Queue(required(settings, "batch_work_queue")),
        Limits(settings.batch_shard_bytes, settings.batch_shard_lines),
        settings.batch_hours,
    )


@cache
def joiner() -> Joiner:
    return Joiner(_bucket(Settings.from_environment()))


def worker(settings: Settings, endpoints: Mapping[str, LineEndpoint]) -> Worker:
    """A worker; without endpoints it can give shards up, and no more."""
    queue = Queue(required(settings, "batch_work_queue"))
    return Worker(_bucket(settings), queue, endpoints, settings.batch_concurrency)


@cache
def undertaker() -> DeadLetterHandler:
    return DeadLetterHandler(splitter(), worker(Settings.from_environment(), {}), joiner())


def set_aside(message: str) -> None:
    """Keep a message that nobody can read where a person finds it."""
    Queue(required(Settings.from_environment(), "batch_lost_queue")).send_text(message)


def required(settings: Settings, name: str) -> str:
    """A setting that must be given.

    Raises:
        ConfigurationError: it is not.
    """
    value: str = getattr(settings, name)
    if not value:
        raise ConfigurationError(f"Batches need {PREFIX}{name.upper()}.")
    return value


def _bucket(settings: Settings) -> Bucket:
    return Bucket(required(settings, "batch_bucket"))
