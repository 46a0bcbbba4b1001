"""The engine's logprobs by token id, as the OpenAI API shows them by text (wire.md 6.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from renderlayer.bundle import Model
from renderlayer.derender.core.detokenize import REPLACEMENT
from renderlayer.wire.derender import CONTEXT_TOKENS, LOWEST_LOGPROB, GenerateLogprobs, LogprobEntry

if TYPE_CHECKING:
    from renderlayer.wire.answers import ChatLogprobs, CompletionLogprobs, ContentLogprob, TokenLogprob


class TokenTexts:
    """The text of single tokens, completed from the tokens before where a character is spread over several."""

    def __init__(self, model: Model) -> None:
        self._tokenizer = model.tokenizer
        self._vocabulary = model.vocabulary
        self._size = len(model.vocabulary)
        self._by_bytes = model.vocabulary.decoder != "other"

    def known(self, token_id: int) -> bool:
        return 0 <= token_id < self._size

    def of(self, token_id: int, before: Sequence[int]) -> str:
        """What the token says after the sampled tokens `before`, of which at most four count."""
        alone = self._decode([token_id])
        if not alone.endswith(REPLACEMENT):
            return alone
        for length in range(1, min(len(before), CONTEXT_TOKENS) + 1):
            context = list(before[-length:])
            joint = self._decode([*context, token_id])
            if not joint.endswith(REPLACEMENT):
                return joint[self._said_already(context, joint) :]
        return ""

    def _said_already(self, context: list[int], joint: str) -> int:
        """How much of `joint` belongs to the context, whose unfinished tail is this token's to tell."""
        clean = list(context)
        while clean and self._decode(clean[-1:]).endswith(REPLACEMENT):
            clean.pop()
        said = self._decode(clean)
        shared = zip(said, joint, strict=False)
        return next((at for at, (a, b) in enumerate(shared) if a != b), min(len(said), len(joint)))

    def _decode(self, token_ids: list[int]) -> str:
        if not self._by_bytes:
            return self._tokenizer.decode(list(filter(self.known, token_ids)), skip_special_tokens=False)
        return b"".join(map(self._vocabulary.token_bytes, token_ids)).decode("utf-8", "replace")


def chat_logprobs(
    logprobs: GenerateLogprobs | None, texts: TokenTexts, before: Sequence[int], keep: int | None
) -> ChatLogprobs | None:
    """The chat form: a list of tokens with their bytes and candidates.

    Args:
        before: the sampled token ids before the first entry (four are enough).
        keep: how many candidates a position keeps; None: all.
    """
    if logprobs is None:
        return None
    if logprobs.content is None:
        return {"content": None}
    out: list[ContentLogprob] = []
    sampled = list(before)
    for entry in logprobs.content:
        candidates = [
            _spelled(candidate.token_id, candidate.logprob, texts, sampled) for candidate in entry.top_logprobs[:keep]
        ]
        out.append({**_spelled(entry.token_id, entry.logprob, texts, sampled), "top_logprobs": candidates})
        sampled = [*sampled[1 - CONTEXT_TOKENS :], entry.token_id]
    return {"content": out}


def completion_logprobs(
    logprobs: GenerateLogprobs | None, texts: TokenTexts, before: Sequence[int], keep: int | None, offset: int
) -> CompletionLogprobs | None:
    """The completions form: four lists of equal length.

    Args:
        offset: the text offset of the first token, in code points.
    """
    if logprobs is None:
        return None
    offsets: list[int] = []
    tokens: list[str] = []
    tops: list[dict[str, float] | None] = []
    sampled = list(before)
    entries = logprobs.content or ()
    for entry in entries:
        token = texts.of(entry.token_id, sampled)
        offsets.append(offset)
        tokens.append(token)
        tops.append(_by_text(entry, texts, sampled, keep))
        offset += len(token)
        sampled = [*sampled[1 - CONTEXT_TOKENS :], entry.token_id]
    values = [finite(entry.logprob) for entry in entries]
    return {"text_offset": offsets, "token_logprobs": values, "tokens": tokens, "top_logprobs": tops}


def context_after(before: Sequence[int], token_ids: Sequence[int]) -> list[int]:
    """The sampled ids that the next tokens may need to spell themselves."""
    return [*before, *token_ids][-CONTEXT_TOKENS:]


def finite(logprob: float) -> float:
    """JSON knows no infinity: the engine's own stand-in for it."""
    return logprob if math.isfinite(logprob) else LOWEST_LOGPROB


def _spelled(token_id: int, logprob: float, texts: TokenTexts, before: Sequence[int]) -> TokenLogprob:
    token = texts.of(token_id, before)
    return {
        "token": token,
        "logprob": finite(logprob),
        "bytes": list(token.encode()) if texts.known(token_id) else None,
    }


def _by_text(
    entry: LogprobEntry, texts: TokenTexts, before: Sequence[int], keep: int | None
) -> dict[str, float] | None:
    if not entry.top_logprobs:
        return None
    return {texts.of(row.token_id, before): finite(row.logprob) for row in entry.top_logprobs[:keep]}
