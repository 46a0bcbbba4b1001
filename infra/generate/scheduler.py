"""The engine's thread: it takes requests in, interleaves their steps, and hands out what they gain.

Each round computes at most one piece of one waiting prompt, then one token of every running choice. So a long prompt
delays the others by one piece, and a long answer delays nobody.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import torch

from infra.generate.decoding.choice import Choice, Delta
from infra.generate.model.runner import Context, Prompt, PromptScores, Runner
from renderlayer.errors import RenderLayerError

logger = logging.getLogger(__name__)

Emit = Callable[[Delta | Exception], None]


@dataclass
class Job:
    """One request inside the engine.

    Attributes:
        request_id: the id that abort names.
        prompt, scores, choices: what to compute.
        emit: takes every delta, or the error that ended the request; called from the engine's thread.
        prefill: the prompt's computation, once it has begun.
        lanes: the choices that go on, each with its context.
    """

    request_id: str
    prompt: Prompt
    scores: PromptScores
    choices: list[Choice]
    emit: Emit = field(default=lambda output: None)
    prefill: Iterator[tuple[Context, torch.Tensor] | None] | None = None
    lanes: list[tuple[Choice, Context]] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return any(not choice.finished for choice in self.choices)


class Scheduler:
    """Runs jobs on one thread.

    Args:
        runner: the model.
        max_num_seqs: most choices at a time; further requests wait in the order they came.
    """

    def __init__(self, runner: Runner, max_num_seqs: int) -> None:
        self._runner = runner
        self._max_num_seqs = max_num_seqs
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._waiting: deque[Job] = deque()
        self._filling: deque[Job] = deque()
        self._running: list[Job] = []
        self._thread = threading.Thread(target=self._loop, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, job: Job, emit: Emit) -> None:
        """Take a job in; `emit` gets what it gains."""
        job.emit = emit
        self._inbox.put(lambda: self._waiting.append(job))

    def abort(self, request_ids: Collection[str] | None = None) -> None:
        """End the requests of these ids, or all of them; unknown ids are ignored."""
        self._inbox.put(lambda: self._abort(lambda job: request_ids is None or job.request_id in request_ids))

    def cancel(self, job: Job) -> None:
        """End this request, whose caller is gone."""
        self._inbox.put(lambda: self._abort(lambda other: other is job))

    def close(self) -> None:
        """End every request and the thread."""
        self.abort()
        self._inbox.put(None)
        self._thread.join()

    def _loop(self) -> None:
        with torch.inference_mode():
            while self._receive():
                self._admit()
                self._fill()
                for job in list(self._running):
                    self._guarded(job, self._decode)
                self._running = [job for job in self._running if job.open]

    def _receive(self) -> bool:
        """Carry out what came in, waiting for it when there is nothing to do; False when told to end."""
        while True:
            idle = not (self._waiting or self._filling or self._running)
            try:
                command = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if command is None:
                return False
            command()

    def _admit(self) -> None:
        active = sum(len(job.choices) for job in (*self._filling, *self._running))
        while self._waiting and active + len(self._waiting[0].choices) <= self._max_num_seqs:
            job = self._waiting.popleft()
            job.prefill = self._runner.prefill(job.prompt, job.scores)
            self._filling.append(job)
            active += len(job.choices)

    def _fill(self) -> None:
        """One piece of one prompt; the prompts take turns."""
        if self._filling:
            job = self._filling.popleft()
            self._guarded(job, self._advance)

    def _advance(self, job: Job) -> None:
        assert job.prefill is not None
        state = next(job.prefill)
        if state is None:
            self._filling.append(job)
            return
        context, logits = state
        for choice in job.choices:
            self._step(job, choice, logits)
        live = [choice for choice in job.choices if not choice.finished]
        job.lanes = [(choice, context if choice is live[-1] else context.fork()) for choice in live]
        if job.open:
            self._running.append(job)

    def _decode(self, job: Job) -> None:
        for choice, context in job.lanes:
            if not choice.finished:
                self._step(job, choice, self._runner.decode(choice.token_ids[-1], context))

    def _step(self, job: Job, choice: Choice, logits: torch.Tensor) -> None:
        delta = choice.step(logits)
        if delta is not None:
            job.emit(delta)

    def _abort(self, meant: Callable[[Job], bool]) -> None:
        for job in (*self._waiting, *self._filling, *self._running):
            if meant(job):
                for choice in job.choices:
                    if not choice.finished:
                        job.emit(choice.abort())
        self._waiting = deque(job for job in self._waiting if job.open)
        self._filling = deque(job for job in self._filling if job.open)
        self._running = [job for job in self._running if job.open]

    def _guarded(self, job: Job, work: Callable[[Job], None]) -> None:
        """Do a job's work; an error ends that request alone."""
        try:
            work(job)
        except Exception as error:
            if not isinstance(error, RenderLayerError):
                logger.exception("%s failed", job.request_id)
            for choice in job.choices:
                choice.finished = True
            job.emit(error)
