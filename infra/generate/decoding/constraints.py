"""Structured outputs: what the text has to look like, held by banning tokens (wire.md 2.6, 5.5).

The grammars are xgrammar's, an optional package; every kind of constraint is written as a structural tag first, as
render writes those of tools.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

import torch

from renderlayer.bundle import Vocabulary
from renderlayer.constraints.structural_tags.params import KINDS, as_format, params
from renderlayer.errors import BadRequest

_FIELD = "structured_outputs"


class Compiler:
    """Compiles the constraints of one model.

    Args:
        vocabulary: the bundle's, which says what each token spells.
        width: of the logits.
        ending: tokens that may follow a complete text.
    """

    def __init__(self, vocabulary: Vocabulary, width: int, ending: Collection[int]) -> None:
        self._vocabulary = vocabulary
        self._width = width
        self._ending = sorted(ending)

    def compile(self, given: Mapping[str, Any]) -> Any:
        """A compiled grammar, from which any number of choices can be held.

        Raises:
            BadRequest: the constraint is none, or xgrammar is not installed.
        """
        fields = params(**{name: given[name] for name in KINDS if given.get(name) is not None})
        compiler = self._compiler
        try:
            if fields["json_object"] or fields["json"] is not None:
                schema = as_format(fields)["json_schema"]
                return compiler.compile_json_schema(schema, any_whitespace=not given.get("disable_any_whitespace"))
            return compiler.compile_structural_tag({"type": "structural_tag", "format": as_format(fields)})
        except (RuntimeError, ValueError, TypeError) as error:
            reason = str(error).rpartition(": ")[2][:300]
            raise BadRequest(f"The constraint cannot be compiled: {reason}", _FIELD) from None

    def hold(self, compiled: Any, after: frozenset[int]) -> Constraint:
        """Hold one choice to a compiled grammar; see `Constraint`."""
        return Constraint(_xgrammar(), compiled, self._width, after)

    @cached_property
    def _compiler(self) -> Any:
        xgrammar = _xgrammar()
        spelled = [
            self._vocabulary.token_bytes(token_id) for token_id in range(min(len(self._vocabulary), self._width))
        ]
        info = xgrammar.TokenizerInfo(
            spelled, xgrammar.VocabType.RAW, vocab_size=self._width, stop_token_ids=self._ending
        )
        return xgrammar.GrammarCompiler(info, max_threads=2)


class Constraint:
    """Holds one choice to its grammar.

    Args:
        xgrammar: the package.
        compiled: the grammar.
        width: of the logits.
        after: token ids that end the reasoning; nothing is held before one of them has come. Empty: from the start.
    """

    def __init__(self, xgrammar: ModuleType, compiled: Any, width: int, after: frozenset[int]) -> None:
        self._xgrammar = xgrammar
        self._matcher = xgrammar.GrammarMatcher(compiled)
        self._allowed = xgrammar.allocate_token_bitmask(1, width)
        self._after = after

    def apply(self, scores: torch.Tensor) -> None:
        """Ban, in place, the tokens that the grammar cannot take next. scores: [vocabulary]."""
        if self._after or self._matcher.is_terminated():
            return
        if self._matcher.fill_next_token_bitmask(self._allowed):
            self._xgrammar.apply_token_bitmask_inplace(scores, self._allowed[0], backend="cpu")

    def accept(self, token_id: int) -> None:
        """Take the token that was chosen."""
        if self._after:
            if token_id in self._after:
                self._after = frozenset()
        elif not self._matcher.is_terminated():
            self._matcher.accept_token(token_id)


def _xgrammar() -> ModuleType:
    try:
        import xgrammar
    except ImportError:
        raise BadRequest("structured_outputs needs the package xgrammar: pip install xgrammar", _FIELD) from None
    module: ModuleType = xgrammar
    return module
