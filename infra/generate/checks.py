"""The engine's own checks of a request, against this model and these limits (wire.md 5.1, step 11)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from infra.generate.decoding.sampling import SamplingParams
from renderlayer.errors import BadRequest

MOST_LOGPROB_IDS = 128

_TOKEN_LISTS = (
    "stop_token_ids",
    "allowed_token_ids",
    "logit_bias",
    "logprob_token_ids",
    "prompt_logprob_token_ids",
    "trace_decode_token_ids",
)
_NEVER_EMPTY = {"allowed_token_ids", "prompt_logprob_token_ids", "trace_decode_token_ids"}


@dataclass(frozen=True)
class Limits:
    """What a request is checked against; `max_logprobs` is negative for no limit."""

    max_model_len: int
    vocabulary: int
    max_logprobs: int
    trace_replay: bool

    def check(self, token_ids: Sequence[int], params: SamplingParams) -> None:
        """Refuse what this engine cannot compute.

        Raises:
            BadRequest: with the parameter's name where the reference gives it.
        """
        self._check_prompt(token_ids)
        self._check_counts(params)
        for name in _TOKEN_LISTS:
            self._check_ids(name, getattr(params, name))
        if params.watermarking is not None:
            raise BadRequest("This engine does not support watermarking.", "watermarking")
        if params.trace_decode_token_ids is not None:
            if not self.trace_replay:
                raise BadRequest("trace_decode_token_ids needs --enable-trace-replay.", "trace_decode_token_ids")
            if params.n > 1:
                raise BadRequest("trace_decode_token_ids requires n=1.")

    def _check_prompt(self, token_ids: Sequence[int]) -> None:
        length, limit = len(token_ids), self.max_model_len
        if length >= limit:
            raise BadRequest(
                f"The prompt has {length} tokens: no room for an output token within the model's maximum context "
                f"length of {limit} tokens."
            )
        largest = max(token_ids)
        if largest >= self.vocabulary:
            raise BadRequest(f"Token id {largest} is out of vocabulary")

    def _check_counts(self, params: SamplingParams) -> None:
        most = self.max_logprobs if self.max_logprobs >= 0 else self.vocabulary
        for name in ("logprobs", "prompt_logprobs"):
            count = getattr(params, name) or 0
            count = self.vocabulary if count == -1 else count
            if count > most:
                raise BadRequest(f"{name} of {count} is more than the {most} allowed (--max-logprobs)", name, count)
        for name, limit in (("logprob_token_ids", MOST_LOGPROB_IDS), ("prompt_logprob_token_ids", most)):
            count = len(getattr(params, name) or ())
            if count > limit:
                raise BadRequest(f"{name} has {count} entries; at most {limit} are allowed", name, count)
        chosen = params.logprob_token_ids
        if chosen is not None and params.logprobs is not None and params.logprobs != len(chosen):
            raise BadRequest(
                f"logprobs must equal the length of logprob_token_ids ({len(chosen)}) when both are given.",
                "logprob_token_ids",
                len(chosen),
            )

    def _check_ids(self, name: str, ids: Collection[int] | None) -> None:
        if ids is None:
            return
        if name in _NEVER_EMPTY and not ids:
            raise BadRequest(f"{name} must not be empty.", name, [])
        strange = [token_id for token_id in ids if not 0 <= token_id < self.vocabulary]
        if strange:
            raise BadRequest(
                f"{name} contains ids that are out of vocabulary (size {self.vocabulary})", name, strange[:10]
            )
