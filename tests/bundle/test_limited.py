"""Templates of requests are rendered as jinja2 renders them, in a process that is stopped at its limits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.bundle.engines.limited import MAX_TEXT, LimitedEngine, analyse_limited
from renderlayer.bundle.pack.probes.conversations import cases
from renderlayer.errors import BadRequest
from tests.models import CHATML

MEMORY = 256 << 20


def engine(source: str, seconds: float = 20.0) -> LimitedEngine:
    return LimitedEngine(source, seconds, MEMORY)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ a.b }}", r"^'a' is undefined$"),
        ("{{ raise_exception('stop') }}", "^stop$"),
        ("{% if", "^unexpected 'end of template'$"),
        ("{{ ''.__class__.mro() }}", "unsafe"),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            r"took more than 0\.4 seconds",
        ),
        ("{{ ('a' * 100000) | join('b' * 100000) }}", f"needs more than {MEMORY} bytes of memory"),
        ("{{ 'a' * 9000000 }}", f"more than {MAX_TEXT} characters"),
    ],
)
def test_refusals_say_why(source: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        engine(source, 0.4).render({})


def test_a_context_that_nests_too_deeply_is_refused() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(BadRequest, match="nested too deeply"):
        engine("{{ a }}").render({"a": nested})


def test_nothing_is_evaluated_before_rendering() -> None:
    assert analyse_limited("{{ 'a' | center(10**9) }}", 0.4, MEMORY).content_format == "string"
    assert analyse_limited("{{ a }}" * 1000, 5.0, MEMORY).variables == {"a"}
    assert (
        analyse_limited(
            "{% for m in messages %}{% for p in m.content %}{% endfor %}{% endfor %}", 5.0, MEMORY
        ).content_format
        == "openai"
    )


def test_a_large_honest_text_passes() -> None:
    text = "é" * (MAX_TEXT // 2)
    source = "{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim }}{% endfor %}"
    assert len(engine(source).render({"messages": [{"role": "user", "content": text}]})) == len(text) + 6


def test_text_comes_back_as_it_is() -> None:
    text = "é\u0000\r\n\ud800😀"
    assert engine("{{ a }}").render({"a": text}) == text


EVERYTHING = """
{%- macro show(value) -%}
{%- if value is mapping %}{% for k, v in value | dictsort %}{{ k }}={{ show(v) }};{% endfor %}
{%- elif value is string or value is not iterable %}{{ value }}
{%- else %}[{{ value | map('string') | join(', ') }}]{% endif %}
{%- endmacro %}
{%- macro outer() %}{{ caller('c') }}{% endmacro %}
{%- set ns = namespace(last='', seen=[]) %}
{%- for m in messages if m.role != 'critic' %}
{%- set ns.seen = ns.seen + [m.role | upper] %}
{{ loop.index0 ~ '/' ~ loop.length }} {{ m.role.title() }}: {{ show(m.content) }}
{{- '%-6s|%5.1f' % (m.role, loop.index) }}
{%- for call in m.tool_calls or [] %}<{{ call.function.name }}>{{ show(call.function.arguments) }}{% endfor %}
{%- if not loop.first and messages[loop.index0 - 1].role == m.role %} again{% endif %}
{%- set ns.last = m.content[-5:] if m.content is string else (m.content | length) %}
{%- endfor %}
{{ ns.seen | unique | join('+') }} {{ ns.last }} {{ '{:>8}|{}'.format(ns.last, true) }}
{{ [3, 1, 2] | sort | batch(2) | list }} {{ 7 // 2 ** 1 % 3 - 1.5 }} {{ 'DEVELOPER' in ns.seen }} {{ {1: 2}[1] }}
{%- if tools %}{{ tools[0].function.parameters | tojson(indent=2) }}
{{- tools | selectattr('function.strict') | list | length }}{% endif %}
{%- call(x) outer() %}{{ x }}{% endcall %}
{%- filter upper %}shout{% endfilter %}{% set block %}{{ bos_token }}b{% endset %}{{ block }}
"""


@pytest.mark.parametrize("content_format", ["string", "openai"])
@pytest.mark.parametrize("source", [CHATML, EVERYTHING], ids=["chatml", "everything"])
def test_limits_do_not_change_what_is_rendered(source: str, content_format: str) -> None:
    plain, limited = JinjaEngine(source), engine(source)
    for case in cases(content_format):
        context = {"messages": case.conversation, "tools": case.tools, **case.kwargs}
        assert outcome(limited.render, context) == outcome(plain.render, context)


def outcome(render: Callable[[dict[str, object]], str], context: dict[str, object]) -> str:
    try:
        return render(context)
    except BadRequest as error:
        return f"refused: {error}"
