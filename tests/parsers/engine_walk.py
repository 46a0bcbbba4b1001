"""Texts that the engine's own grammar lets through: random walks in xgrammar over a small vocabulary."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import xgrammar

END = "<end>"
LETTERS = [*map(chr, range(32, 127)), "\n", "é", "客"]
SHORTEST = 60
LONGEST = 1500


class Walk:
    """A grammar, and what it lets through.

    Args:
        markers: what the model has as single tokens.
    """

    def __init__(self, tag: str, markers: Sequence[str]) -> None:
        letters = [*LETTERS, *sorted({letter for letter in tag if letter not in LETTERS})]
        self.vocabulary = [*letters, *markers, END]
        info = xgrammar.TokenizerInfo(
            [text.encode() for text in self.vocabulary], stop_token_ids=[len(self.vocabulary) - 1]
        )
        self._ends = [*dict.fromkeys([*'"}],:n', *_ends(json.loads(tag))])]
        self._grammar = xgrammar.GrammarCompiler(info, max_threads=1).compile_structural_tag(tag)

    def texts(self, seed: int, count: int) -> Iterator[str]:
        """Random texts; of those that do not come to an end, as a model's may not, none."""
        chance = random.Random(seed)
        found = [text for text in (self._text(chance) for _ in range(count)) if text is not None]
        assert found
        yield from found

    def _text(self, chance: random.Random) -> str | None:
        matcher = xgrammar.GrammarMatcher(self._grammar)
        mask = xgrammar.allocate_token_bitmask(1, len(self.vocabulary))
        words: list[str] = []
        while not matcher.is_terminated():
            if len(words) == LONGEST:
                return None
            matcher.fill_next_token_bitmask(mask)
            allowed = _set(mask, len(self.vocabulary))
            if len(self.vocabulary) - 1 in allowed and (len(words) > SHORTEST or chance.random() < 0.3):
                break
            end = self._end(matcher, chance) if len(words) > SHORTEST or chance.random() < 0.2 else ""
            if not end:
                token = chance.choice(allowed)
                assert matcher.accept_token(token)
                end = self.vocabulary[token]
            words.append(end)
        return "".join(words).removesuffix(END)

    def _end(self, matcher: Any, chance: random.Random) -> str:
        """What ends something that is open, if anything here does."""
        ends = chance.sample(self._ends, len(self._ends))
        return next((end for end in ends if matcher.accept_string(end)), "")


def _set(mask: torch.Tensor, size: int) -> list[int]:
    words = [word & 0xFFFFFFFF for word in mask[0].tolist()]
    return [token for token in range(size) if words[token // 32] >> (token % 32) & 1]


def _ends(content: Any) -> Iterator[str]:
    """The ends of tags, and fixed texts."""
    if isinstance(content, dict):
        end = content.get("end") or ()
        yield from [end] if isinstance(end, str) else end
        if content.get("type") == "const_string" and content["value"]:
            yield content["value"]
    for part in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _ends(part)


def text_of(tag: dict[str, Any]) -> str:
    return json.dumps({"type": "structural_tag", "format": tag}, ensure_ascii=False)
