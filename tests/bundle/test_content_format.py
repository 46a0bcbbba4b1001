"""Detection of the content format on the syntax tree (wire.md 3.2)."""

from __future__ import annotations

import pytest

from renderlayer.bundle.analysis import analyse

LOOP = "{% for m in messages %}BODY{% endfor %}"
PARTS = "{% for part in X %}{{ part.text }}{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        LOOP.replace("BODY", PARTS.replace("X", "m.content")),
        LOOP.replace("BODY", PARTS.replace("X", "m['content']")),
        LOOP.replace("BODY", PARTS.replace("X", "m.content | list")),
        LOOP.replace("BODY", PARTS.replace("X", "m.content[1:]")),
        LOOP.replace("BODY", PARTS.replace("X", "(m.content if m.content is not string else [])")),
        LOOP.replace("BODY", "{% set c = m.content %}" + PARTS.replace("X", "c")),
        LOOP.replace("BODY", "{% set ns.c = m.content %}" + PARTS.replace("X", "ns.c")),
        LOOP.replace("BODY", PARTS.replace("X", "content")),
        LOOP.replace("messages", "messages[1:]").replace("BODY", PARTS.replace("X", "m.content")),
        "{% set rest = messages[1:] %}"
        + LOOP.replace("messages", "rest").replace("BODY", PARTS.replace("X", "m.content")),
        "{% set ns = namespace(rest=messages) %}"
        + LOOP.replace("messages", "ns.rest").replace("BODY", PARTS.replace("X", "m.content")),
        "{% set ns = namespace() %}{% set ns.rest = messages %}"
        + LOOP.replace("messages", "ns.rest").replace("BODY", PARTS.replace("X", "m.content")),
        "{% macro show(c) %}"
        + PARTS.replace("X", "c")
        + "{% endmacro %}"
        + LOOP.replace("BODY", "{{ show(m.content) }}"),
        "{% macro show(a, c=1) %}"
        + PARTS.replace("X", "c")
        + "{% endmacro %}"
        + LOOP.replace("BODY", "{{ show(1, c=m.content) }}"),
        "{% macro show(m) %}"
        + PARTS.replace("X", "m.content")
        + "{% endmacro %}"
        + LOOP.replace("BODY", "{{ show(m) }}"),
    ],
)
def test_openai(source: str) -> None:
    assert analyse(source).content_format == "openai"


@pytest.mark.parametrize(
    "source",
    [
        "",
        LOOP.replace("BODY", "{{ m.content }}"),
        LOOP.replace("BODY", PARTS.replace("X", "m.tool_calls")),
        LOOP.replace("BODY", "{% for t in tools %}{{ t.content }}{% endfor %}"),
        LOOP.replace("BODY", PARTS.replace("X", "m.get('content')")),
        "{{ messages[0].content }}" + PARTS.replace("X", "documents"),
        # a parameter is judged by what it receives, whatever it is called
        "{% macro show(content) %}"
        + PARTS.replace("X", "content")
        + "{% endmacro %}"
        + LOOP.replace("BODY", "{{ show(m.get('content')) }}"),
        # parameters of the same name in two macros are two names
        "{% macro one(v) %}{{ v }}{% endmacro %}{% macro two(v) %}"
        + PARTS.replace("X", "v")
        + "{% endmacro %}"
        + LOOP.replace("BODY", "{{ one(m.content) }}{{ two(m.tool_calls) }}"),
        "{% for m in messages %}",
    ],
)
def test_string(source: str) -> None:
    assert analyse(source).content_format == "string"


def test_variables_are_what_comes_from_outside() -> None:
    source = "{% set a = 1 %}{% for m in messages %}{{ m.x ~ a ~ b | default(c) }}{% endfor %}{{ range(2) }}"
    assert analyse(source).variables == {"messages", "b", "c"}
    assert analyse("{% for %}").variables == set()
