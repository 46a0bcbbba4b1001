"""Log-probabilities of the model's own distribution, before any sampling parameter touches it (wire.md 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

LOWEST = -9999.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token of one position: its log-probability (natural) and its rank, 1 for the likeliest."""

    token_id: int
    logprob: float
    rank: int


def candidates(
    logits: torch.Tensor, token_id: int, count: int, token_ids: Sequence[int] | None = None
) -> list[Candidate]:
    """The candidates that are reported for one position.

    Args:
        logits: [vocabulary], float32, as the model gave them.
        token_id: the token that was taken; it comes first.
        count: how many of the likeliest to add; -1 for the whole vocabulary.
        token_ids: report these instead of the likeliest, in this order.
    """
    scores = torch.log_softmax(logits, dim=-1)
    taken = _candidate(scores, token_id)
    if token_ids is not None:
        return [taken, *(_candidate(scores, other) for other in dict.fromkeys(token_ids) if other != token_id)]
    width = scores.shape[-1] if count == -1 else min(count, scores.shape[-1])
    values, ids = torch.topk(scores, width)
    ranked = zip(ids.tolist(), values.tolist(), strict=True)
    top = [Candidate(other, _finite(value), rank) for rank, (other, value) in enumerate(ranked, start=1)]
    return [taken, *(entry for entry in top if entry.token_id != token_id)]


def gathered(logits: torch.Tensor, token_ids: Sequence[int]) -> torch.Tensor:
    """Log-probabilities of the same tokens at every row: [rows, vocabulary] → [rows, len(token_ids)]."""
    return torch.log_softmax(logits, dim=-1)[:, list(token_ids)]


def _candidate(scores: torch.Tensor, token_id: int) -> Candidate:
    value = scores[token_id]
    return Candidate(token_id, _finite(value.item()), int((scores > value).sum()) + 1)


def _finite(value: float) -> float:
    """JSON has no infinities: what cannot be written becomes −9999 (wire.md 0)."""
    return value if value > LOWEST else LOWEST
