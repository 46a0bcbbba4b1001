"""jinja2 for templates that came in a request: rendered in a process whose time and memory are limited.

What a template may do is what the reference lets it do, jinja2's sandbox as elsewhere; how much is up to `confined`.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import Any

from renderlayer.bundle.engines.engine import Analysis
from renderlayer.confined import Confined, OutOfMemory, OutOfTime
from renderlayer.errors import BadRequest

MAX_TEXT = 8 << 20
"""Code points of what a template gives."""
_BYTES_A_CODE_POINT = 4
_WORK = "renderlayer.bundle.engines.limited_worker:work"


class LimitedEngine:
    """A template that is stopped when it takes too much.

    Args:
        source: the template.
        seconds: processor time of each rendering, its compilation included.
        memory: bytes that it may take.
    """

    def __init__(self, source: str, seconds: float, memory: int) -> None:
        self._source = source
        self._limits = seconds, memory

    def render(self, context: dict[str, Any]) -> str:
        """Render with `context`.

        Raises:
            BadRequest: it does not compile, or anything went wrong in it, with its text; or it takes too much.
            Unavailable: too many are rendered.
        """
        seconds, memory = self._limits
        try:
            answer, text = _confined(seconds, memory)({"source": self._source, "context": context})
        except OutOfTime:
            raise BadRequest(f"The chat template of the request took more than {seconds:g} seconds.") from None
        except OutOfMemory:
            raise BadRequest(f"The chat template of the request needs more than {memory} bytes of memory.") from None
        except (pickle.PicklingError, RecursionError):
            raise BadRequest("What the chat template of the request is given is nested too deeply.") from None
        if "refusal" in answer:
            raise BadRequest(answer["refusal"])
        return text.decode("utf-8", "surrogatepass")


def analyse_limited(source: str, seconds: float, memory: int) -> Analysis:
    """Analyse a template that came in a request; what is wrong with it is told when it is rendered."""
    try:
        answer, _ = _confined(seconds, memory)({"source": source})
    except (OutOfTime, OutOfMemory):
        return Analysis()
    return Analysis(answer["content_format"], frozenset(answer["variables"]))


@lru_cache(maxsize=4)
def _confined(seconds: float, memory: int) -> Confined:
    return Confined(_WORK, seconds, memory, most=_BYTES_A_CODE_POINT * MAX_TEXT + (1 << 16))
