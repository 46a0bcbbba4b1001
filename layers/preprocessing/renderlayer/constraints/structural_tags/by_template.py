"""The format of a whole answer, from the tokenizer's response template: what `beam` asks for (wire.md 2.7).

Delimiters are written in their shortest spelling. Arguments in a notation that the engine does not know are any text up
to the call's end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.native import Notation
from renderlayer.constraints.structural_tags.tools import Demand, Tool, check_size, definitions
from renderlayer.errors import ConfigurationError
from renderlayer.parsers.response_template.calls import CallFormat
from renderlayer.parsers.response_template.nodes import Choice, Node
from renderlayer.parsers.response_template.patterns import PatternError
from renderlayer.parsers.response_template.template import Beginning, Field, Template

_KEY = "\0"
_JSON_TYPES = ("integer", "number", "boolean", "null", "object", "array")


def check_spelled(template: Template) -> None:
    """Refuse a template with delimiters that cannot be written.

    Raises:
        ConfigurationError: one of them has no spelling.
    """
    tool = Tool("name", True, {"properties": {"key": {}}})
    try:
        answer(Beginning(template, fresh=True), [tool], "auto", False, None)
    except PatternError as error:
        raise ConfigurationError(f"Invalid response_template metadata: {error}") from None


def answer(beginning: Beginning, tools: Sequence[Tool], demand: Demand, single: bool, given: Format | None) -> Format:
    """The format of what is still to come of an answer.

    Args:
        tools: those that may be called, if any.
        single: one call at most.
        given: what the client holds the content to.

    Raises:
        BadRequest: the tools are too large to be constrained.
    """
    check_size(tools, 1, per_property=True)
    rest = _behind_thinking(beginning, tools, demand, single, given)
    thinking = beginning.template.field("thinking")
    if not beginning.fresh or thinking is None or thinking.opens is None:
        return rest
    return formats.sequence(formats.optional(_text(_spelled(thinking.opens), _closings(thinking))), rest)


def _behind_thinking(
    beginning: Beginning, tools: Sequence[Tool], demand: Demand, single: bool, given: Format | None
) -> Format:
    template, said = beginning.template, given or formats.any_text()
    content, field, form = template.field("content"), template.field("tool_calls"), template.calls
    delimited = content is not None and content.opens is not None
    if content and content.opens:
        begin, ends = "" if beginning.field == "content" else _spelled(content.opens), _closings(content)
        said = formats.tag(begin, given, ends) if given else _text(begin, ends)
    if not tools or field is None or form is None:
        return said
    calls = _calls(field, form, tools, single)
    if not delimited and given is None:
        return _among_text(calls, demand, single)
    made = formats.separated(calls, "", single=single or form.listed or form.kind == "python")
    if demand != "auto":
        return formats.sequence(formats.optional(said), made) if delimited else made
    return formats.either([formats.sequence(said, formats.optional(made)) if delimited else said, made])


def _among_text(calls: Sequence[Format], demand: Demand, single: bool) -> Format:
    """Calls in text that has no delimiters of its own."""
    trigger: str = calls[0]["begin"]
    while not all(call["begin"].startswith(trigger) for call in calls):
        trigger = trigger[:-1]
    return formats.triggered(trigger, calls, at_least_one=demand != "auto", single=single, excludes=())


def _calls(field: Field, form: CallFormat, tools: Sequence[Tool], single: bool) -> list[Format]:
    """A tag for every tool, or one for all where the calls stand in a list."""
    opens, closings = field.opens, _closings(field)
    assert opens is not None
    if form.kind == "python":
        return [_text(_spelled(opens), closings)]
    if form.capture:
        begins = [_spelled(opens, {form.capture: tool.name}) for tool in tools]
        return [
            formats.tag(begin, _arguments(form, tool, closings), closings)
            for begin, tool in zip(begins, tools, strict=True)
        ]
    begin = _spelled(opens)
    heads = [f"{{{_quoted(form.name)}: {_quoted(tool.name)}, {_quoted(form.arguments)}: " for tool in tools]
    values = [formats.json_schema(tool.json_schema) for tool in tools]
    if not form.listed:
        ends = [f"}}{closing}" for closing in closings]
        return [formats.tag(begin + head, value, ends) for head, value in zip(heads, values, strict=True)]
    objects = [formats.tag(head, value, "}") for head, value in zip(heads, values, strict=True)]
    ends = [f"]{closing}" for closing in closings]
    return [formats.tag(f"{begin}[", formats.separated(objects, ", ", single=single), ends)]


def _text(begin: str, ends: Sequence[str]) -> Format:
    """Any text up to the first of the ends."""
    return formats.tag(begin, formats.any_text(ends), list(ends))


def _arguments(form: CallFormat, tool: Tool, closings: Sequence[str]) -> Format:
    """What stands between the delimiters of a call whose name is in the opener."""
    if form.kind == "json" and not form.notation:
        return formats.json_schema(tool.json_schema)
    if tool.held and (notation := _notation(form)) is not None:
        return notation.arguments(tool)
    if form.opens is None or form.closes is None or not tool.properties:
        return formats.any_text(closings)
    tables, end = definitions(tool), _spelled(form.closes)
    pairs = [
        formats.tag(_spelled(form.opens, {"key": name}), _value(schema, tables, end), end)
        for name, schema in tool.properties.items()
    ]
    required = isinstance(tool.schema, dict) and tool.schema.get("required")
    return (formats.plus if required else formats.star)(formats.one_of(pairs))


def _notation(form: CallFormat) -> Notation | None:
    """The notation of the arguments, where a schema can be written in it."""
    if form.opens is not None and form.closes is not None:
        before, _, between = _spelled(form.opens, {"key": _KEY}).partition(_KEY)
        return Notation(before=before, between=between, after=_spelled(form.closes))
    if form.kind == "json" and form.quotes:
        return Notation(between=":", opening="{", closing="}", separator=",", quotes=form.quotes[0], nested=True)
    return None


def _value(schema: Any, tables: dict[str, Any], end: str) -> Format:
    """A value between tags, where strings stand without quotes."""
    if not isinstance(schema, dict):
        return formats.any_text((end,))
    if schema.get("type") in _JSON_TYPES:
        return formats.json_schema({**tables, **schema})
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        return formats.one_of([formats.const(choice) for choice in choices])
    return formats.any_text((end,))


def _closings(field: Field) -> list[str]:
    """What may end the field."""
    ways = field.closes.ways if isinstance(field.closes, Choice) else (field.closes,)
    texts = [_spelled(way) for way in ways if way]
    if not all(texts) or not texts:
        raise PatternError(f"field {field.kind!r} has no end that could be asked for")
    return texts


def _spelled(node: Node, captures: Mapping[str, str] | None = None) -> str:
    text = node.spelled(captures or {})
    if text is None:
        raise PatternError(f"no spelling of the delimiter {node.full()} can be asked for")
    return text


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
