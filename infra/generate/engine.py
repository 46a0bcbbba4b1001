"""Requests in, deltas out: the engine behind the endpoint, for asyncio callers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, cast

from transformers import PreTrainedModel

from infra.generate.checks import Limits
from infra.generate.decoding.choice import Choice, Delta, Endings
from infra.generate.decoding.choosing import Chooser
from infra.generate.decoding.constraints import Compiler, Constraint
from infra.generate.decoding.reasoning import Reasoning
from infra.generate.decoding.sampling import SamplingParams
from infra.generate.decoding.text import OutputText
from infra.generate.model.connector import open_connector
from infra.generate.model.features import Features
from infra.generate.model.loading import vocabulary_size
from infra.generate.model.runner import PromptScores, Runner
from infra.generate.options import Options
from infra.generate.scheduler import Job, Scheduler
from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.generate import GenerateRequest


class Engine:
    """A model and the thread that runs it.

    Args:
        server: the bundle and its settings.
        model: the weights.
        options: limits and switches.
    """

    def __init__(self, server: ServedModel, model: PreTrainedModel, options: Options) -> None:
        self.server = server
        self._limits = Limits(
            server.max_model_len, vocabulary_size(model), server.settings.max_logprobs, options.enable_trace_replay
        )
        self._features = Features(model, server.model.facts.processor, open_connector(model, server, options))
        self._reasoning = Reasoning(server)
        self._scheduler = Scheduler(Runner(model, options.max_num_batched_tokens), options.max_num_seqs)

    def start(self) -> None:
        self._scheduler.start()

    def close(self) -> None:
        """End every request and wait for the thread."""
        self._scheduler.close()

    def abort(self, request_ids: Collection[str] | None = None) -> None:
        """End requests by id, or all; their choices finish with "abort". Returns at once."""
        self._scheduler.abort(request_ids)

    def open(self, request_id: str, request: GenerateRequest, params: SamplingParams) -> Run:
        """Prepare a request. May take a while (grammars, images): not for the event loop's thread.

        Args:
            request_id: the id that abort names.
            request: what to generate.
            params: its sampling parameters, read.

        Raises:
            BadRequest: this engine cannot compute it.
        """
        self._limits.check(request.token_ids, params)
        prompt = self._features.prompt(request)
        scores = PromptScores(
            prompt.token_ids, params.prompt_logprobs, params.prompt_logprob_token_ids, params.prompt_logprob_start
        )
        return Run(self._scheduler, Job(request_id, prompt, scores, self._choices(request, params)))

    def _choices(self, request: GenerateRequest, params: SamplingParams) -> list[Choice]:
        prompt, facts = request.token_ids, self.server.model.facts
        endings = Endings.of(params, facts.eos_token_id, facts.eos_token_ids)
        words = self._bad_words(params.bad_words)
        limit = self._limit(len(prompt), params)
        texts = request.output_mode == "text" or bool(params.stop)
        hold = self._holder(request, params)
        choices = []
        for index in range(params.n):
            constraint, budget = hold() if hold else None, self._reasoning.budget(request, params)
            chooser = Chooser(params, index, prompt, self._limits.vocabulary, endings.banned, words, constraint, budget)
            text = self._text(prompt, params) if texts else None
            choices.append(Choice(index, params, limit, endings, chooser, text))
        return choices

    def _holder(self, request: GenerateRequest, params: SamplingParams) -> Callable[[], Constraint] | None:
        """Makes the constraint of each choice, when the request has one."""
        if params.structured_outputs is None:
            return None
        compiled = self._compiler.compile(params.structured_outputs)
        after = frozenset() if self._reasoning.ended(request) else self._reasoning.ends
        return lambda: self._compiler.hold(compiled, after)

    @cached_property
    def _compiler(self) -> Compiler:
        facts = self.server.model.facts
        ending = {*facts.eos_token_ids, facts.eos_token_id} - {None}
        return Compiler(self.server.model.vocabulary, self._limits.vocabulary, cast(set[int], ending))

    def _limit(self, prompt: int, params: SamplingParams) -> int:
        """Most tokens of a choice."""
        trace = params.trace_decode_token_ids
        bounds = (
            self._limits.max_model_len - prompt,
            params.max_tokens,
            None if trace is None else len(trace),
        )
        return min(bound for bound in bounds if bound is not None)

    def _text(self, prompt: Sequence[int], params: SamplingParams) -> OutputText:
        vocabulary = self.server.model.vocabulary
        detokenizer = Detokenizer.after_prompt(vocabulary, params.skip_special_tokens, prompt)
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

    def __init__(self, scheduler: Scheduler, job: Job) -> None:
        self._scheduler = scheduler
        self.job = job

    @property
    def scores(self) -> PromptScores:
        """The prompt's log-probabilities, complete with the first delta."""
        return self.job.scores

    @property
    def ec_transfer_params(self) -> dict[str, Any] | None:
        """Where the prompt's encoded items are, when this engine passes them on."""
        return self.job.prompt.ec_transfer_params

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Every delta of every choice as it comes. Leaving the iterator early ends the request.

        Raises:
            Exception: what the model raised.
        """
        loop = asyncio.get_running_loop()
        outputs: asyncio.Queue[Delta | Exception] = asyncio.Queue()

        def emit(output: Delta | Exception) -> None:
            with suppress(RuntimeError):  # the loop has ended, and whoever waited in it
                loop.call_soon_threadsafe(outputs.put_nowait, output)

        self._scheduler.submit(self.job, emit)
        left = len(self.job.choices)
        try:
            while left:
                output = await outputs.get()
                if isinstance(output, Exception):
                    left = 0
                    raise output
                left -= output.finish_reason is not None
                yield output
        finally:
            if left:
                self._scheduler.cancel(self.job)
