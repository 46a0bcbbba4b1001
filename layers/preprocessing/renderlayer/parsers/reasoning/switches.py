"""How a chat template's variables turn reasoning on and off (wire.md 7.5).

A format says which variables vLLM's parser of that name reads. For a model's own parser, those that packing found its
template to read stand in their place (`bundle.pack.thinking`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Switch:
    """The variables that a family's templates read.

    Attributes:
        names: the variables; reasoning is on when one of those that are given is true. None: it is always on.
        default: what holds when none is given.
        null: a variable that is given as null is given, and false.
        effort: a reasoning effort of "none" turns it off as well.
    """

    names: tuple[str, ...] = ()
    default: bool = True
    null: bool = False
    effort: bool = False

    def named(self, found: tuple[str, ...]) -> Switch:
        """The switch of a model whose template was found to read these variables; none found, or none read: itself."""
        return replace(self, names=found) if found and self.names else self

    def on(self, kwargs: Mapping[str, Any]) -> bool:
        """Whether the template was asked for reasoning."""
        if self.effort and kwargs.get("reasoning_effort") == "none":
            return False
        given = [kwargs[name] for name in self.names if name in kwargs and (self.null or kwargs[name] is not None)]
        return any(given) if given else self.default


ALWAYS = Switch()
ENABLE = Switch(names=("enable_thinking",), null=True)
EITHER = Switch(names=("thinking", "enable_thinking"))
OPT_IN = Switch(names=("thinking", "enable_thinking"), default=False)
EFFORT = Switch(names=("thinking", "enable_thinking"), null=True, effort=True)
