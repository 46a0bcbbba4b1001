"""Templates of requests cannot run long or make huge values, and otherwise render as jinja2 renders them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from renderlayer.bundle.engines.budget import MAX_TEXT
from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.bundle.engines.limited import LimitedEngine, analyse_limited
from renderlayer.bundle.pack.conversations import cases
from renderlayer.errors import BadRequest
from tests.models import CHATML

SECONDS = 0.4
LATEST = 4.0
"""Wall-clock seconds that an answer may take on a busy machine."""


def grown(step: str, use: str, start: str = "[1]") -> str:
    """A template that repeats `step` on `ns.a`, sixty times, and then uses it."""
    return f"{{% set ns = namespace(a={start}, b=1) %}}{{% for i in range(60) %}}{step}{{% endfor %}}{use}"


DOUBLE_LIST = "{% set ns.a = [ns.a, ns.a] %}"
DOUBLE_TUPLE = "{% set ns.a = (ns.a, ns.a) %}"
LOOP = "{% for i in range(100000) %}BODY{% endfor %}"
ENDLESS = LOOP.replace("BODY", LOOP)

TOO_LONG = {
    "nested loops": ENDLESS.replace("BODY", ""),
    "loops that continue": ENDLESS.replace("BODY", "{% continue %}"),
    "a loop whose test is never true": LOOP.replace("BODY", LOOP.replace(" %}", " if false %}", 1)),
    "macros that call themselves twice": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(50) }}"
    ),
    "expressions without a loop": LOOP.replace("BODY", "{{ range(100000) | list | sort | length }}"),
    "filters over generators": LOOP.replace("BODY", "{{ range(100000) | map('string') | list | length }}"),
}
TOO_LARGE = {
    "a repeated text": "{{ 'a' * 10**9 }}",
    "a repeated list": "{{ [1] * 10**9 }}",
    "a power": "{{ 10 ** (10 ** 8) }}",
    "squares": grown("{% set ns.a = ns.a * ns.a %}", "", "7"),
    "a doubled text": grown("{% set ns.a = ns.a ~ ns.a %}", "", "'aaaa'"),
    "an added text": grown("{% set ns.a = ns.a + ns.a %}", "", "'aaaa'"),
    "joined": "{{ (['a' * 1000000] * 100000) | join }}",
    "joined by a method from an iterator": "{{ ''.join((['a' * 1000000] * 1000) | reverse) }}",
    "joined by a method": "{{ ('a' * 1000000).join('b' * 1000000) }}",
    "replaced": "{{ ('a' * 1000000) | replace('a', 'b' * 1000000) }}",
    "replaced by a method": "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
    "centred": "{{ 'a' | center(10**9) }}",
    "justified": "{{ 'a'.ljust(10**9) }}",
    "indented": "{{ ('\\n' * 1000000) | indent(10000) }}",
    "tabs": "{{ ('\\t' * 1000000).expandtabs(10000) }}",
    "formatted by percent": "{{ '%1000000000d' % 1 }}",
    "formatted by a star": "{{ '%*d' % (1000000000, 1) }}",
    "formatted by a filter": "{{ '%1000000000d' | format(1) }}",
    "formatted by a method": "{{ '{:1000000000}'.format(1) }}",
    "formatted by a nested field": "{{ '{:{}}'.format(1, 1000000000) }}",
    "many fields": "{{ ('%s' * 10000) % (('a' * 1000000,) * 10000) }}",
    "indented JSON": "{{ [[[1]]] | tojson(indent=1000000000) }}",
    "batches": "{{ [1] | batch(10**9, 0) | list }}",
    "rounded": "{{ 1 | round(10000000, 'ceil') }}",
    "printed lists in lists": grown(DOUBLE_LIST, "{{ ns.a }}"),
    "JSON of lists in lists": grown(DOUBLE_LIST, "{{ ns.a | tojson }}"),
    "compared lists in lists": grown(DOUBLE_LIST + "{% set ns.b = [ns.b, ns.b] %}", "{{ ns.a == ns.b }}"),
    "hashed tuples as a key": grown(DOUBLE_TUPLE, "{{ {ns.a: 1} }}"),
    "hashed tuples as a subscript": grown(DOUBLE_TUPLE, "{{ {}[ns.a] }}"),
    "hashed tuples in a filter": grown(DOUBLE_TUPLE, "{{ [ns.a] | unique | list }}"),
    "tested tuples": grown(DOUBLE_TUPLE, "{{ ns.a is in [ns.a, 1] }}"),
    "a namespace in itself": "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    "deep tuples": (
        "{% set ns = namespace(a=1) %}{% for i in range(9000) %}{% set ns.a = (ns.a,) %}{% endfor %}{{ {}[ns.a] }}"
    ),
    "a list of texts": (
        "{% set ns = namespace(l=[]) %}{% set b = 'a' * 1000000 %}"
        "{% for i in range(100000) %}{% set ns.l = ns.l + [b[1:]] %}{% endfor %}"
    ),
    "captured output": "{% set x %}{% for i in range(100000) %}" + "y" * 10000 + "{% endfor %}{% endset %}",
    "output": "{% for i in range(100000) %}" + "y" * 10000 + "{% endfor %}",
    "many tokens": "{{ a }}" * 10000,
}
FORBIDDEN = {
    "translate": "{{ ('a' * 10000).translate({97: 'b' * 1000000}) }}",
    "bytes": "{{ (1).to_bytes(1000000000, 'big') }}",
    "encode": "{{ 'a'.encode() }}",
    "lorem ipsum": "{{ lipsum(n=100000) }}",
    "sums of lists": "{{ [[1]] | sum(start=[]) }}",
    "long dates": "{{ strftime_now('%A' * 1000000) }}",
    "removed filters": "{{ 'a' | urlize }}",
    "deep parentheses": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "long chains": "{{ " + "a + " * 4000 + "a }}",
    "endless recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
}


@pytest.mark.parametrize("source", TOO_LONG.values(), ids=TOO_LONG)
def test_time_is_limited(source: str) -> None:
    began = time.monotonic()
    with pytest.raises(BadRequest, match=r"took more than 0\.4 seconds"):
        LimitedEngine(source, SECONDS).render({})
    assert time.monotonic() - began < LATEST


@pytest.mark.parametrize("source", [*TOO_LARGE.values(), *FORBIDDEN.values()], ids=[*TOO_LARGE, *FORBIDDEN])
def test_size_is_limited(source: str) -> None:
    began = time.monotonic()
    with pytest.raises(BadRequest):
        LimitedEngine(source, 20.0).render({})
    assert time.monotonic() - began < LATEST


@pytest.mark.parametrize(
    "source", ["{{ 'a' | center(10**9) }}", "{% autoescape 'a' | center(10**9) %}{% endautoescape %}"]
)
def test_nothing_is_evaluated_before_rendering(source: str) -> None:
    began = time.monotonic()
    assert analyse_limited(source, SECONDS).content_format == "string"
    assert analyse_limited("{{ a }}" * 10000, SECONDS).variables == set()
    assert time.monotonic() - began < LATEST


def test_a_large_honest_text_passes() -> None:
    text = "é" * (MAX_TEXT // 2)
    source = "{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim }}{% endfor %}"
    assert len(LimitedEngine(source, 20.0).render({"messages": [{"role": "user", "content": text}]})) == len(text) + 6


def test_budgets_are_not_shared() -> None:
    engine = LimitedEngine("{{ 'a' * 4000000 }}", 20.0)
    assert {len(engine.render({})) for _ in range(80)} == {4_000_000}


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
    plain, limited = JinjaEngine(source), LimitedEngine(source, 20.0)
    for case in cases(content_format):
        context = {"messages": case.conversation, "tools": case.tools, **case.kwargs}
        assert outcome(limited.render, context) == outcome(plain.render, context)


def outcome(render: Callable[[dict[str, object]], str], context: dict[str, object]) -> str:
    try:
        return render(context)
    except BadRequest as error:
        return f"refused: {error}"
