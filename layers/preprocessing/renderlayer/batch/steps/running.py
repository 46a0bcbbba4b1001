"""Running the lines of a shard side by side, until they are done or somebody says stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from renderlayer.batch.steps.lines import LineError, Request, Result, answered, failed, refused
from renderlayer.errors import BadGateway, BadRequest, RenderLayerError, Unavailable
from renderlayer.request_context import ending

logger = logging.getLogger(__name__)

GRACE = 20
"""Seconds of the time left that are kept to store what is done."""
RETRY_SECONDS = 2
"""Seconds after which a line on which the engine failed is tried again, at first."""
FAILURES_IN_A_ROW = 32
"""Lines on which an engine fails one after the other before it is left alone for a while."""
LOOK_EVERY = 2
"""Seconds between two looks at whether the batch has ended."""


@dataclass(frozen=True)
class LineEndpoint:
    """What a URL does.

    Attributes:
        answer: (body, request id) -> the answer.
        waits: whether it waits for an engine, so that many lines at a time are worth while. The others use the
            processor, where a second thread only costs time.
    """

    answer: Callable[[Any, str], Any]
    waits: bool


@dataclass
class Run:
    """A shard's lines on their way.

    Attributes:
        look: asks the store why lines are not to be begun any more, "" while they are.
        done: results by line number.
        ended: what `look` said last.
        patient: whether a line on which the engine fails is left for another time; its error is its result else.
        retry_after: seconds after which the rest may be tried again; None while nothing has stood in the way.
        failed: lines that were left because the engine failed on them.
    """

    batch: str
    endpoints: Mapping[str, LineEndpoint]
    time_left: Callable[[], float]
    reserve: float
    look: Callable[[], str]
    done: dict[int, Result] = field(default_factory=dict)
    ended: str = ""
    patient: bool = False
    retry_after: int | None = None
    failed: int = 0
    _in_a_row: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _next_look: float = field(default_factory=lambda: time.monotonic() + LOOK_EVERY)

    def run(self, requests: Iterable[tuple[int, Request]], concurrency: int) -> None:
        """Do lines until they are done, the batch has ended, the engine is busy, or the time is short."""
        pool = ThreadPoolExecutor(concurrency, thread_name_prefix="line")
        futures: list[Future[None]] = []
        try:
            for number, request in requests:
                if self.endpoints[request.url].waits:
                    futures.append(pool.submit(self._line, number, request))
                else:
                    self._line(number, request)
            self._wait(futures)
        finally:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _wait(self, futures: list[Future[None]]) -> None:
        """Wait for lines under way; those that would outlast the function are left behind."""
        left = self.time_left() - GRACE
        finished, _ = wait(futures, None if left == float("inf") else max(left, 0), FIRST_EXCEPTION)
        for future in finished:
            future.result()

    def _line(self, number: int, request: Request) -> None:
        if self._stopped.is_set():
            return
        try:
            if self._may_begin():
                with ending(self.time_left() - GRACE):
                    self.done[number] = self._result(number, request)
                self._in_a_row = 0
        except Unavailable as busy:
            self.stop(busy.retry_after)
        except BadGateway:
            self._leave()

    def _leave(self) -> None:
        """Leave a line on which the engine failed for another time, and all others when nothing else happens."""
        with self._lock:
            self.failed += 1
            self._in_a_row += 1
            self.retry_after = max(self.retry_after or 0, RETRY_SECONDS)
            if self._in_a_row >= FAILURES_IN_A_ROW:
                self._stopped.set()

    def _may_begin(self) -> bool:
        if self.time_left() < self.reserve:
            self.stop(0)
            return False
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self.ended = self.look()
            if self.ended:
                self._stopped.set()
        return not self.ended

    def stop(self, retry_after: int) -> None:
        self.retry_after = max(self.retry_after or 0, retry_after)
        self._stopped.set()

    def _result(self, number: int, request: Request) -> Result:
        request_id = f"{self.batch}-{number}"
        error: RenderLayerError
        try:
            body = self.endpoints[request.url].answer(request.body, request_id)
            return answered(self.batch, number, request.custom_id, body, request_id)
        except Unavailable:
            raise
        except BadGateway as failure:
            if self.patient:
                raise
            error = failure
        except LineError as wrong:
            return failed(self.batch, number, LineError(wrong.code, str(wrong), request.custom_id))
        except RenderLayerError as known:
            error = known
        except UnicodeEncodeError:
            error = BadRequest("A lone surrogate of the request would reach the answer.")
        except Exception as crash:  # the type is logged, the message is not, since it may quote a prompt
            logger.error("unexpected %s in a line of %s", type(crash).__name__, self.batch)
            error = RenderLayerError("The server had an error while processing this line.")
        return refused(self.batch, number, request.custom_id, error, request_id)
