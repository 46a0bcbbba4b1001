"""What `/inference/v1/generate` answers, whole and in events (wire.md 5.2, 5.3); keys in the reference's order."""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy

from infra.generate.decoding.choice import Delta
from infra.generate.decoding.logprobs import Candidate
from infra.generate.model.runner import PromptScores
from renderlayer.bundle import Model
from renderlayer.derender.core.logprobs import TokenTexts, chat_logprobs, context_after
from renderlayer.wire.derender import GenerateLogprobs
from renderlayer.wire.generate import GenerateRequest

_NO_DETAILS = {"prompt_tokens_details": None, "completion_tokens_details": None}


class Answer:
    """Builds the answers to one request and counts their tokens.

    Args:
        request: the request.
        request_id: the prefixed id.
        name: the model's served name.
        model: spells tokens, for the text output mode.
    """

    def __init__(self, request: GenerateRequest, request_id: str, name: str, model: Model) -> None:
        self._request = request
        self._request_id = request_id
        self._name = name
        self._texts = TokenTexts(model)
        self._tokens: dict[int, list[int]] = {}

    def whole(
        self, deltas: Sequence[Delta], scores: PromptScores, ec_transfer_params: dict[str, Any] | None
    ) -> dict[str, Any]:
        """The answer of a request without stream.

        Args:
            deltas: one a choice, complete, in the order of their indices.
            scores: the prompt's log-probabilities.
            ec_transfer_params: where the prompt's encoded items are.
        """
        created = int(time.time())
        choices = [self._choice(delta) for delta in deltas]
        usage = {**self._usage(self._count()), **_NO_DETAILS}
        return {
            "request_id": self._request_id,
            "model": self._name,
            "created": created,
            "usage": usage,
            "prompt_logprobs": self._prompt_logprobs(scores),
            "prompt_token_id_logprobs": _npy(scores),
            "prompt_token_ids": self._request.token_ids if self._request.return_token_ids else None,
            "mm_placeholders": self._placeholders() if self._request.return_token_ids else None,
            "metrics": None,
            "kv_transfer_params": None,
            "ec_transfer_params": ec_transfer_params,
            "output_mode": self._request.output_mode,
            "choices": choices,
        }

    def event(self, delta: Delta) -> dict[str, Any]:
        """One event of a stream: what one choice gained."""
        options = self._request.stream_options
        first = not self._tokens
        choice = self._choice(delta)
        out: dict[str, Any] = {"request_id": self._request_id, "usage": None}
        if options is not None and options.include_usage and options.continuous_usage_stats:
            out["usage"] = {**self._usage(len(self._tokens[delta.index])), **_NO_DETAILS}
        if first and self._request.return_token_ids:
            out["prompt_token_ids"] = self._request.token_ids
            if (placeholders := self._placeholders()) is not None:
                out["mm_placeholders"] = placeholders
        return {**out, "output_mode": self._request.output_mode, "choices": [choice]}

    def closing(self) -> dict[str, Any] | None:
        """The event with the total usage, when it was asked for."""
        options = self._request.stream_options
        if options is None or not options.include_usage:
            return None
        usage = self._usage(self._count())
        return {
            "request_id": self._request_id,
            "usage": usage,
            "output_mode": self._request.output_mode,
            "choices": [],
        }

    def _choice(self, delta: Delta) -> dict[str, Any]:
        before = self._tokens.setdefault(delta.index, [])
        logprobs = self._logprobs(delta, before)
        before += delta.token_ids
        version = {"version": "default", "start": 0, "end": len(before)}
        return {
            "index": delta.index,
            "finish_reason": delta.finish_reason,
            "stop_reason": delta.stop_reason,
            "token_ids": delta.token_ids,
            "routed_experts": None,
            "sampling_mask": None,
            "weight_versions": [version] if delta.finish_reason else None,
            **({"text": delta.text} if self._request.output_mode == "text" else {}),
            "logprobs": logprobs,
        }

    def _logprobs(self, delta: Delta, before: Sequence[int]) -> Mapping[str, Any] | None:
        if delta.positions is None:
            return None
        content = [{**asdict(row[0]), "top_logprobs": [asdict(entry) for entry in row]} for row in delta.positions]
        if self._request.output_mode == "tokens":
            return {"content": content}
        context = context_after((), before)
        return chat_logprobs(GenerateLogprobs.model_validate({"content": content}), self._texts, context, None)

    def _prompt_logprobs(self, scores: PromptScores) -> list[dict[str, Any] | None] | None:
        if self._request.sampling_params.get("prompt_logprobs") is None:
            return None
        ids = self._request.token_ids
        rows = (self._prompt_row(row, ids[:at]) for at, row in enumerate(scores.positions, start=1))
        return [None, *rows]

    def _prompt_row(self, row: Sequence[Candidate], before: Sequence[int]) -> dict[str, Any]:
        return {
            str(entry.token_id): {
                "logprob": entry.logprob,
                "rank": entry.rank,
                "decoded_token": self._texts.of(entry.token_id, before),
            }
            for entry in row
        }

    def _placeholders(self) -> dict[str, Any] | None:
        features = self._request.features
        if features is None:
            return None
        return {
            modality: [{"offset": entry.offset, "length": entry.length} for entry in ranges]
            for modality, ranges in features.mm_placeholders.items()
        }

    def _count(self) -> int:
        return sum(map(len, self._tokens.values()))

    def _usage(self, completion: int) -> dict[str, int]:
        prompt = len(self._request.token_ids)
        return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}


def _npy(scores: PromptScores) -> str | None:
    """The prompt's matrix of log-probabilities as a base64 .npy file."""
    matrix = scores.matrix()
    if matrix is None:
        return None
    file = io.BytesIO()
    numpy.save(file, matrix.numpy())
    return base64.b64encode(file.getvalue()).decode()
