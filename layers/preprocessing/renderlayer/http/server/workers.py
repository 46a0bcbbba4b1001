"""Several processes that answer at one address (`renderlayer serve --workers N`): uvicorn's, counted as one server.

What is per worker: threads, caches, connections to the engine, and `max_waiting_answers`. The memory for media is
shared out. `/metrics` of any worker tells the sums.
"""

from __future__ import annotations

import fcntl
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess

from renderlayer.errors import ConfigurationError
from renderlayer.http.execution.body_memory import body_share
from renderlayer.http.server.connection import ServerConfig
from renderlayer.http.server.ready_log import announce
from renderlayer.memory import media_share
from renderlayer.settings import METRICS_FOLDER, Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HEALTH_SECONDS = 60
"""Seconds in which a worker must show that it lives; a first import on a busy machine takes some."""

_METRICS, _LOCK = "renderlayer-metrics-", "lock"

logger = logging.getLogger(__name__)


def shared_out(settings: Settings, workers: int) -> Settings:
    """The settings of one worker: its share of the memory for media and for bodies."""
    return replace(
        settings,
        media_memory_bytes=max(media_share(settings.media_memory_bytes) // workers, 1),
        body_memory_bytes=max(body_share(settings.body_memory_bytes) // workers, 1),
    )


def run_workers(config: ServerConfig, sockets: list[socket.socket], doing: str) -> None:
    """Serve from `config.workers` processes and print one line once all answer; returns after a graceful stop.

    Args:
        config: its `app` is a function without arguments that makes the application, in each worker.

    Raises:
        ConfigurationError: a worker did not start.
    """
    with metrics_folder() as folder:
        os.environ[METRICS_FOLDER] = folder
        workers = Workers(config, sockets, doing)
        workers.run()
    if workers.failed:
        raise ConfigurationError("a worker did not start; the log above says why")


@contextmanager
def metrics_folder() -> Iterator[str]:
    """A folder for the workers' metrics; those of servers that were killed, whose lock nobody holds, are removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_METRICS}*/{_LOCK}"):
        with suppress(OSError), left.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_METRICS) as folder, Path(folder, _LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def in_worker(make: Callable[[], ASGIApp]) -> ASGIApp:
    """Make the application of a worker, which ends with its parent, however that ends."""
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    try:
        return make()
    except ConfigurationError as error:
        logger.error("%s", error)
        sys.exit(STARTUP_FAILURE)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class Workers(Multiprocess):
    """uvicorn's supervisor, which starts a worker anew that died; it announces, and keeps the metrics in order.

    Attributes:
        failed: a worker could not start, which the next one could not, either.
    """

    def __init__(self, config: ServerConfig, sockets: list[socket.socket], doing: str) -> None:
        hang_up = signal.getsignal(signal.SIGHUP)
        super().__init__(config, sockets)
        if hang_up is signal.SIG_IGN:  # under nohup
            signal.signal(signal.SIGHUP, hang_up)
        self._doing = doing
        self._announced = False
        self.failed = False

    def keep_subprocess_alive(self) -> None:
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            self._forget(pid)
        self.failed = any(process.exitcode == STARTUP_FAILURE for process in self.processes)
        if not self._announced and not self.should_exit.is_set():
            self._announced = all(process.is_ready(HEALTH_SECONDS) for process in self.processes)
            if self._announced:
                announce(self._doing, self.config, self.sockets)

    def handle_hup(self) -> None:
        """A hang-up stops the server, as it does one of one process."""
        self.should_exit.set()

    def _forget(self, pid: int | None) -> None:
        """Leave what a dead worker had under way out of the sums; what it had counted stays."""
        from prometheus_client.multiprocess import mark_process_dead

        logger.error("worker %s died; another one takes its place", pid)
        mark_process_dead(pid)  # type: ignore[no-untyped-call]
