"""What of a prompt a model would have sampled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from jinja2 import nodes
from jinja2.parser import Parser

from renderlayer.bundle import ChatTemplate
from renderlayer.bundle.engines.jinja import GenerationTag, JinjaEngine, environment
from renderlayer.bundle.engines.mini import without_generation_tags
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.turn_end import CALL, CONTENT, turn_end
from renderlayer.render.continuing.writing import Writer
from renderlayer.render.renderers import open_renderer
from renderlayer.render.spans.parts import Part, common_start

Json = dict[str, Any]
_NONCE = os.urandom(8).hex()
_OPEN, _CLOSE = f"\ue0f0{_NONCE}\ue0f1", f"\ue0f2{_NONCE}\ue0f1"


class _MarkedGeneration(GenerationTag):
    """Writes a mark before and behind what the tags hold."""

    def parse(self, parser: Parser) -> nodes.Node:
        scope = super().parse(parser)
        assert isinstance(scope, nodes.Scope)
        marks = [nodes.Output([nodes.TemplateData(mark)], lineno=scope.lineno) for mark in (_OPEN, _CLOSE)]
        return nodes.Scope([marks[0], *scope.body, marks[1]], lineno=scope.lineno)


def sampled_in(text: str, parts: Sequence[Part], messages: Sequence[Json], writer: Writer) -> list[tuple[int, int]]:
    """The characters that a model would have sampled, as ranges in order.

    Those between `{% generation %}` and `{% endgeneration %}`, where the template of the model has such tags.
    """
    template = None if writer.server.derived(open_renderer) else writer.template
    # no template of a request runs unconfined
    if (
        isinstance(template, ChatTemplate)
        and not writer.chat_template
        and (without_generation_tags(template.source) != template.source)
    ):
        return _by_tags(template, messages, writer)
    out: list[tuple[int, int]] = []
    for number, part in enumerate(parts):
        if messages[part.message]["role"] != "assistant":
            continue
        if not out or number == 0 or parts[number - 1].message != part.message:
            out.append((_start(text, parts, number, messages, writer), part.end))
        if number + 1 == len(parts) or parts[number + 1].message != part.message:
            out[-1] = (out[-1][0], _end(text, parts, number, messages, writer))
    return out


def _by_tags(template: ChatTemplate, messages: Sequence[Json], writer: Writer) -> list[tuple[int, int]]:
    made = environment()
    made.extensions[GenerationTag.identifier].tags = frozenset()
    made.add_extension(_MarkedGeneration)
    marked = template.with_engine(lambda source: JinjaEngine(source, made))
    out: list[tuple[int, int]] = []
    at = 0
    pieces = writer.with_template(marked).write(messages, bool(writer.kwargs.get("add_generation_prompt"))).text
    for piece in pieces.split(_OPEN):
        inside, closed, behind = piece.partition(_CLOSE)
        if closed and inside:
            out.append((at, at + len(inside)))
        at += len(inside) + len(behind)
    return out


def _start(text: str, parts: Sequence[Part], number: int, messages: Sequence[Json], writer: Writer) -> int:
    """Where a part's turn begins: behind its generation prompt, or with the part where it goes on within a turn."""
    part = parts[number]
    try:
        start = common_start(writer.write(messages[: part.message], generate=True).text, text)
    except NotExtended:
        return part.start
    before = parts[number - 1].end if number else 0
    return start if before <= start <= part.start else part.start


def _end(text: str, parts: Sequence[Part], number: int, messages: Sequence[Json], writer: Writer) -> int:
    """Where the turn of a part ends: behind the token that closes it, if one comes before the next part."""
    part = parts[number]
    following = messages[part.message + 1]["role"] if part.message + 1 < len(messages) else "user"
    try:
        closer = turn_end(writer, CALL if part.kind.startswith("call") else CONTENT, following).closer
    except NotExtended:
        closer = ""
    limit = parts[number + 1].start if number + 1 < len(parts) else len(text)
    close = text.find(closer, part.end, limit) if closer else -1
    return close + len(closer) if close >= 0 else part.end
