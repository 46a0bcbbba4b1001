"""From the logits of a position to the next token: constraints, penalties, temperature, truncation, draw.

The order is the reference's: what forbids tokens, then biases, then penalties; greedy decoding stops there. Otherwise
temperature, min_p, top_k, top_p, and a draw from a generator that belongs to the sequence alone, so that a seed gives
the same tokens whatever else the engine is doing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from infra.generate.decoding.constraints import Constraint
from infra.generate.decoding.reasoning import Budget
from infra.generate.decoding.sampling import SamplingParams
from renderlayer.errors import BadRequest

NEVER = float("-inf")
_SEED_MASK = (1 << 63) - 1
_FEW = 1024


class Chooser:
    """Chooses the tokens of one sequence.

    Args:
        params: the request's parameters.
        index: the sequence's number within the request; it is added to the seed.
        prompt: the prompt's token ids, for the repetition penalty.
        vocabulary: the width of the logits.
        ending: tokens that end the sequence, banned until `min_tokens`.
        bad_words: token sequences that may not be completed.
        constraint: what the text is held to.
        budget: how long the reasoning may be.
    """

    def __init__(
        self,
        params: SamplingParams,
        index: int,
        prompt: Sequence[int],
        vocabulary: int,
        ending: frozenset[int],
        bad_words: Sequence[Sequence[int]] = (),
        constraint: Constraint | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._params = params
        self._ending = sorted(ending)
        self._bad_words = bad_words
        self._constraint = constraint
        self._budget = budget
        self._generator = torch.Generator()
        if params.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed((params.seed + index) & _SEED_MASK)
        self._penalties = Penalties(params, prompt, vocabulary) if Penalties.wanted(params) else None
        self._shapes = bool(
            constraint
            or bad_words
            or params.allowed_token_ids
            or params.min_tokens
            or params.logit_bias
            or self._penalties
        )

    def choose(self, logits: torch.Tensor, output: Sequence[int]) -> int:
        """The next token.

        Args:
            logits: [vocabulary], float32; not modified.
            output: the sequence's tokens so far.
        """
        trace = self._params.trace_decode_token_ids
        if trace is not None:
            return trace[len(output)]
        token = self._budget.forced(output) if self._budget is not None else None
        if token is None:
            scores = self._shaped(logits.clone(), output) if self._shapes else logits
            token = int(scores.argmax()) if self._params.greedy else self._draw(scores)
        if self._penalties is not None:
            self._penalties.count(token)
        if self._constraint is not None:
            self._constraint.accept(token)
        return token

    def _shaped(self, scores: torch.Tensor, output: Sequence[int]) -> torch.Tensor:
        """Forbid, bias and penalize, in place."""
        self._forbid(scores, output)
        for token_id, bias in self._params.logit_bias.items():
            scores[token_id] += bias
        if self._penalties is not None:
            self._penalties.apply(scores)
        return scores

    def _forbid(self, scores: torch.Tensor, output: Sequence[int]) -> None:
        if self._constraint is not None:
            self._constraint.apply(scores)
        allowed = self._params.allowed_token_ids
        if allowed is not None:
            kept = scores[allowed].clone()
            scores.fill_(NEVER)
            scores[allowed] = kept
        for word in self._bad_words:
            if _ends_with(output, word[:-1]):
                scores[word[-1]] = NEVER
        if len(output) < self._params.min_tokens:
            scores[self._ending] = NEVER
        if scores.max() == NEVER:
            raise BadRequest("The request's constraints leave no token to choose.")

    def _draw(self, scores: torch.Tensor) -> int:
        params = self._params
        weights = torch.softmax(scores / params.temperature, dim=-1)
        if params.min_p > 0.0:
            weights = torch.where(weights < params.min_p * weights.max(), 0.0, weights)
        ids: torch.Tensor | None = None
        if 0 < params.top_k < weights.shape[-1]:
            weights, ids = torch.topk(weights, params.top_k)
        if params.top_p < 1.0:
            weights, kept = nucleus(weights, params.top_p)
            ids = kept if ids is None else ids[kept]
        drawn = draw(weights, self._generator)
        return drawn if ids is None else int(ids[drawn])


def _ends_with(output: Sequence[int], head: Sequence[int]) -> bool:
    return not head or (len(output) >= len(head) and list(output[-len(head) :]) == list(head))


def nucleus(weights: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The fewest largest weights that make up `top_p` of their sum, and their indices, largest first.

    They are looked for among the largest few before all are sorted, which a large vocabulary makes slow.
    """
    goal = top_p * weights.sum(dtype=torch.float64)
    width = min(_FEW, weights.shape[-1])
    while True:
        values, ids = torch.topk(weights, width)
        cumulative = torch.cumsum(values, dim=-1, dtype=torch.float64)
        if cumulative[-1] >= goal or width == weights.shape[-1]:
            break
        width = min(8 * width, weights.shape[-1])
    count = int((cumulative < goal).sum()) + 1
    return values[:count], ids[:count]


def draw(weights: torch.Tensor, generator: torch.Generator) -> int:
    """An index, by its weight, from one uniform number.

    This is the inverse of the distribution function: `torch.multinomial` draws a number an entry, which for a large
    vocabulary takes longer than a small model's forward pass.
    """
    cumulative = torch.cumsum(weights, dim=-1, dtype=torch.float64)
    total = cumulative[-1:]
    point = torch.rand(1, generator=generator, dtype=torch.float64) * total
    below = torch.minimum(point, torch.nextafter(total, torch.zeros_like(total)))
    return int(torch.searchsorted(cumulative, below, right=True))


class Penalties:
    """Repetition (prompt and output), presence and frequency (output) penalties of one sequence."""

    def __init__(self, params: SamplingParams, prompt: Sequence[int], vocabulary: int) -> None:
        self._params = params
        self._seen = torch.zeros(vocabulary, dtype=torch.bool)
        self._seen[list(prompt)] = True
        self._counts = torch.zeros(vocabulary, dtype=torch.float32)

    @staticmethod
    def wanted(params: SamplingParams) -> bool:
        return params.repetition_penalty != 1.0 or params.presence_penalty != 0.0 or params.frequency_penalty != 0.0

    def count(self, token_id: int) -> None:
        self._seen[token_id] = True
        self._counts[token_id] += 1

    def apply(self, scores: torch.Tensor) -> None:
        """Change `scores` ([vocabulary]) in place."""
        factor = self._params.repetition_penalty
        seen = scores[self._seen]
        scores[self._seen] = torch.where(seen > 0, seen / factor, seen * factor)
        scores -= self._params.frequency_penalty * self._counts
        scores -= self._params.presence_penalty * (self._counts > 0)
