"""Requests in, deltas out: the engine behind the endpoint, for asyncio callers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence

from transformers import PreTrainedModel

from infra.generate.checks import Limits
from infra.generate.choice import Choice, Delta, Endings
from infra.generate.choosing import Chooser
from infra.generate.loading import vocabulary_size
from infra.generate.options import Options
from infra.generate.runner import Prompt, PromptScores, Runner
from infra.generate.sampling import SamplingParams
from infra.generate.scheduler import Job, Scheduler
from infra.generate.text import OutputText
from renderlayer.derender.detokenize import Detokenizer
from renderlayer.errors import BadRequest
from renderlayer.render.server import Server


class Engine:
    """A model and the thread that runs it.

    Args:
        server: the bundle and its settings.
        model: the weights.
        options: limits and switches.
    """

    def __init__(self, server: Server, model: PreTrainedModel, options: Options) -> None:
        self.server = server
        self._limits = Limits(
            server.max_model_len, vocabulary_size(model), server.settings.max_logprobs, options.enable_trace_replay
        )
        self._scheduler = Scheduler(Runner(model, options.max_num_batched_tokens), options.max_num_seqs)

    def start(self) -> None:
        self._scheduler.start()

    def close(self) -> None:
        """End every request and wait for the thread."""
        self._scheduler.close()

    def abort(self, request_ids: Collection[str] | None = None) -> None:
        """End requests by id, or all; their choices finish with "abort". Returns at once."""
        self._scheduler.abort(request_ids)

    def open(self, request_id: str, prompt: Prompt, params: SamplingParams, text: bool) -> Run:
        """Prepare a request.

        Args:
            request_id: the id that abort names.
            text: the answer has text.

        Raises:
            BadRequest: this engine cannot compute it.
        """
        self._limits.check(prompt.token_ids, params)
        scores = PromptScores(
            prompt.token_ids, params.prompt_logprobs, params.prompt_logprob_token_ids, params.prompt_logprob_start
        )
        endings = Endings.of(params, self.server.model.facts.eos_token_id, self.server.model.facts.eos_token_ids)
        words = self._bad_words(params.bad_words)
        limit = self._limit(prompt, params)
        choices = []
        for index in range(params.n):
            chooser = Chooser(params, index, prompt.token_ids, self._limits.vocabulary, endings.banned, words)
            output = self._text(prompt, params) if text or params.stop else None
            choices.append(Choice(index, params, limit, endings, chooser, output))
        outputs = _Outputs()
        return Run(self._scheduler, Job(request_id, prompt, scores, choices, outputs.put), outputs)

    def _limit(self, prompt: Prompt, params: SamplingParams) -> int:
        """Most tokens of a choice."""
        trace = params.trace_decode_token_ids
        bounds = (
            self._limits.max_model_len - len(prompt.token_ids),
            params.max_tokens,
            None if trace is None else len(trace),
        )
        return min(bound for bound in bounds if bound is not None)

    def _text(self, prompt: Prompt, params: SamplingParams) -> OutputText:
        vocabulary = self.server.model.vocabulary
        detokenizer = Detokenizer.after_prompt(vocabulary, params.skip_special_tokens, prompt.token_ids)
        return OutputText(detokenizer, params.stop, params.include_stop_str_in_output)

    def _bad_words(self, words: Sequence[str]) -> list[list[int]]:
        """Token sequences of the words: each as a text's first word, and as a later one where that differs."""
        encode = self.server.model.tokenizer.encode
        sequences: list[list[int]] = []
        for word in words:
            plain, later = encode(word.lstrip()), encode(" " + word.lstrip())
            if not plain:
                raise BadRequest("bad_words must tokenize to at least one token.", "bad_words", list(words))
            sequences.append(plain)
            if len(later) == len(plain) and later[0] != plain[0]:
                sequences.append(later)
        return sequences


class Run:
    """A request that was accepted; iterate `deltas` once."""

    def __init__(self, scheduler: Scheduler, job: Job, outputs: _Outputs) -> None:
        self._scheduler = scheduler
        self._job = job
        self._outputs = outputs

    @property
    def scores(self) -> PromptScores:
        """The prompt's log-probabilities, complete with the first delta."""
        return self._job.scores

    async def deltas(self) -> AsyncIterator[Delta]:
        """Every delta of every choice as it comes. Leaving the iterator early ends the request.

        Raises:
            Exception: what the model raised.
        """
        self._scheduler.submit(self._job)
        left = len(self._job.choices)
        try:
            while left:
                delta = await self._outputs.get()
                left -= delta.finish_reason is not None
                yield delta
        finally:
            if left:
                self._scheduler.cancel(self._job)


class _Outputs:
    """The way from the engine's thread to the event loop that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Delta | Exception] = asyncio.Queue()

    def put(self, output: Delta | Exception) -> None:
        """Called from the engine's thread; what comes after the loop has ended is dropped with it."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._queue.put_nowait, output)

    async def get(self) -> Delta:
        output = await self._queue.get()
        if isinstance(output, Exception):
            raise output
        return output
