"""One output sequence of a request: its tokens, its text, and how it ends (wire.md 5.2, 6.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from infra.generate.decoding.choosing import Chooser
from infra.generate.decoding.logprobs import Candidate, candidates
from infra.generate.decoding.sampling import SamplingParams
from infra.generate.decoding.text import OutputText


@dataclass(slots=True)
class Delta:
    """What one choice gained since its last delta.

    `positions` has the candidates of each token, the taken one first, when log-probabilities were asked for.
    """

    index: int
    token_ids: list[int] = field(default_factory=list)
    positions: list[list[Candidate]] | None = None
    text: str = ""
    finish_reason: str | None = None
    stop_reason: str | int | None = None

    def extend(self, other: Delta) -> None:
        """Take in the delta that follows this one."""
        self.token_ids += other.token_ids
        if self.positions is not None:
            self.positions += other.positions or []
        self.text += other.text
        self.finish_reason, self.stop_reason = other.finish_reason, other.stop_reason


@dataclass(frozen=True, slots=True)
class Endings:
    """The token ids that end a choice.

    Attributes:
        eos: the tokenizer's end token; ending by it leaves stop_reason null. None when the request ignores it.
        named: the request's stop_token_ids and the model's other end tokens; stop_reason names them.
        banned: all that `min_tokens` holds back.
    """

    eos: int | None
    named: frozenset[int]
    banned: frozenset[int]

    @classmethod
    def of(cls, params: SamplingParams, eos: int | None, others: Iterable[int]) -> Endings:
        own = frozenset(params.stop_token_ids)
        model = frozenset(others) - {eos}
        banned = own | model | (frozenset() if eos is None else frozenset({eos}))
        if params.ignore_eos or params.trace_decode_token_ids is not None:
            return cls(None, own, banned)
        return cls(eos, own | model, banned)


class Choice:
    """A choice while it is generated.

    Args:
        index: its number within the request.
        params: the request's parameters.
        limit: most tokens, by max_tokens and by the context's length.
        endings: the tokens that end it.
        chooser: chooses its tokens.
        text: its text, when the request needs one (text output, stop strings).
    """

    def __init__(
        self,
        index: int,
        params: SamplingParams,
        limit: int,
        endings: Endings,
        chooser: Chooser,
        text: OutputText | None = None,
    ) -> None:
        self.index = index
        self.token_ids: list[int] = []
        self.finished = False
        self._params = params
        self._limit = limit
        self._endings = endings
        self._chooser = chooser
        self._text = text
        self._pending = self._empty()

    def step(self, logits: torch.Tensor) -> Delta | None:
        """Choose one token from `logits` ([vocabulary], float32); the delta, when one is due."""
        token = self._chooser.choose(logits, self.token_ids)
        self.token_ids.append(token)
        self._pending.token_ids.append(token)
        if self._pending.positions is not None:
            count = self._params.logprobs or 0
            self._pending.positions.append(candidates(logits, token, count, self._params.logprob_token_ids))
        self._end(token)
        first = len(self.token_ids) == 1
        due = self.finished or first or len(self._pending.token_ids) >= self._params.stream_interval
        return self._release() if due else None

    def abort(self) -> Delta:
        """End the choice where it is."""
        self._finish("abort")
        return self._release()

    def _end(self, token: int) -> None:
        may_stop = len(self.token_ids) >= self._params.min_tokens
        by_token = may_stop and (token == self._endings.eos or token in self._endings.named)
        if self._text is not None and (not by_token or self._params.include_stop_str_in_output):
            string = self._text.add(token, search=len(self.token_ids) > self._params.min_tokens)
            if string is not None:
                self._finish("stop", string)
                return
        if by_token:
            self._finish("stop", None if token == self._endings.eos else token)
        elif len(self.token_ids) >= self._limit:
            self._finish("length")
        elif may_stop and repeats(self.token_ids, self._params.repetition_detection):
            self._finish("repetition")

    def _finish(self, reason: str, stop_reason: str | int | None = None) -> None:
        self.finished = True
        self._pending.finish_reason = reason
        self._pending.stop_reason = stop_reason

    def _release(self) -> Delta:
        delta, self._pending = self._pending, self._empty()
        if self._text is not None:
            delta.text = self._text.release(self.finished)
        return delta

    def _empty(self) -> Delta:
        return Delta(self.index, positions=None if self._params.logprobs is None else [])


def repeats(token_ids: Sequence[int], detection: dict[str, int] | None) -> bool:
    """True when the tail is one pattern, of min_pattern_size to max_pattern_size tokens, min_count times in a row."""
    if detection is None:
        return False
    count = detection.get("min_count", 0)
    shortest = max(1, detection.get("min_pattern_size", 0))
    if count < 2:
        return False
    for size in range(shortest, detection.get("max_pattern_size", 0) + 1):
        tail = token_ids[-size * count :]
        if len(tail) == size * count and all(tail[i] == tail[i % size] for i in range(len(tail))):
            return True
    return False
