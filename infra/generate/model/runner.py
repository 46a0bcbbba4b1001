"""The forward pass: prompts in pieces, then one token at a time, each sequence with its own key-value cache.

Sequences are never batched together: a step costs the same for each of them, and in return a sequence's logits do
not depend on what else the engine is doing, to the last bit.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache, PreTrainedModel

from infra.generate.decoding.logprobs import Candidate, candidates, gathered

_ROWS = 64


@dataclass
class Context:
    """The state of one sequence in the model.

    Attributes:
        cache: its keys and values.
        length: tokens in the cache.
        shift: what to add to the length to get the next position, for models whose images take fewer positions than
            tokens; None for all others.
    """

    cache: DynamicCache
    length: int = 0
    shift: int | None = None

    def fork(self) -> Context:
        """An independent copy, for a further choice of the same prompt."""
        return copy.deepcopy(self)


@dataclass(frozen=True)
class Prompt:
    """A prompt: token ids and, for multimodal ones, what the model takes beside them.

    Attributes:
        token_ids: expanded ids.
        inputs: keyword arguments of the forward pass (pixel values, grids, position ids).
        shift: see `Context`.
        ec_transfer_params: where its encoded items are, for the answer; None when they went nowhere.
    """

    token_ids: Sequence[int]
    inputs: dict[str, Any] | None = None
    shift: int | None = None
    ec_transfer_params: dict[str, Any] | None = None


class PromptScores:
    """Log-probabilities of the prompt's tokens, collected piece by piece.

    Args:
        prompt: the prompt's token ids.
        count: candidates beside the token itself, -1 for all; None: not wanted.
        token_ids: tokens to score at every row; None: not wanted.
        start: first row of that matrix: row i scores the token at start + i + 1.
    """

    def __init__(self, prompt: Sequence[int], count: int | None, token_ids: Sequence[int] | None, start: int) -> None:
        self.positions: list[list[Candidate]] = []
        self._matrix: list[torch.Tensor] = []
        self._prompt = prompt
        self._count = count
        self._token_ids = token_ids
        self._start = start

    @property
    def wanted(self) -> bool:
        return self._count is not None or self._token_ids is not None

    def add(self, logits: torch.Tensor, start: int) -> None:
        """Take `logits` ([rows, vocabulary], float32) of the prompt positions from `start` on."""
        rows = logits[: len(self._prompt) - 1 - start]
        if self._count is not None:
            for row, token_id in zip(rows, self._prompt[start + 1 :], strict=False):
                self.positions.append(candidates(row, token_id, self._count))
        if self._token_ids is not None:
            self._matrix.append(gathered(rows[max(0, self._start - start) :], self._token_ids))

    def matrix(self) -> torch.Tensor | None:
        """[prompt − 1 − start, token ids] float32, or None when it was not asked for."""
        return torch.cat(self._matrix) if self._token_ids is not None else None


class Runner:
    """Runs the model.

    Args:
        model: a causal language model of transformers, in evaluation mode.
        piece: most prompt tokens in one call.
    """

    def __init__(self, model: PreTrainedModel, piece: int) -> None:
        self._model = model
        self._piece = piece

    def prefill(self, prompt: Prompt, scores: PromptScores) -> Iterator[tuple[Context, torch.Tensor] | None]:
        """Compute the prompt, a piece at each step of the iterator.

        Yields:
            None after every piece but the last, then the context and the logits ([vocabulary]) of the next token.
        """
        context = Context(DynamicCache(config=self._model.config), shift=prompt.shift)
        count = len(prompt.token_ids)
        piece = count if prompt.inputs else self._piece
        for start in range(0, count, piece):
            ids = list(prompt.token_ids[start : start + piece])
            hidden = self._forward(ids, context, prompt.inputs or {}, 0 if scores.wanted else 1)
            if scores.wanted:
                for row in range(0, len(ids), _ROWS):
                    scores.add(hidden[row : row + _ROWS].float(), start + row)
            yield None if context.length < count else (context, hidden[-1].float())

    def decode(self, token_id: int, context: Context) -> torch.Tensor:
        """Append one token to the context; the logits ([vocabulary], float32) of the one after it."""
        inputs: dict[str, Any] = {}
        if context.shift is not None:
            inputs["position_ids"] = torch.full((3, 1, 1), context.length + context.shift)
        return self._forward([token_id], context, inputs, 1)[-1].float()

    def _forward(self, ids: list[int], context: Context, inputs: dict[str, Any], keep: int) -> torch.Tensor:
        output = self._model(
            input_ids=torch.tensor([ids]), cache=context.cache, use_cache=True, logits_to_keep=keep, **inputs
        )
        context.length += len(ids)
        return output.logits[0]
