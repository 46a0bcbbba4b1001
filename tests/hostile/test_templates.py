"""Templates of requests: whatever they do, time and memory stay within their settings."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from renderlayer.bundle.engines.limited import LimitedEngine, analyse_limited
from renderlayer.errors import BadRequest
from tests.hostile.child import spent

pytestmark = pytest.mark.long
SECONDS = 0.4
MEMORY = 128 << 20
WORKER = 32 << 20
"""Bytes of a worker that has done nothing yet."""
PEAK = 1.2 * MEMORY + WORKER


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
JOIN = "('a' * 100000) | join('b' * 100000)"
TOO_LARGE = {
    "a text joined by a text": f"{{{{ {JOIN} }}}}",
    "a text joined by a text, with a method": "{{ ('b' * 100000).join('a' * 100000) }}",
    "a text joined by a text, kept": f"{{% set x = {JOIN} %}}{{{{ x | length }}}}",
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
DEEP = {
    "deep parentheses": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "long chains": "{{ " + "a + " * 4000 + "a }}",
    "endless recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "deep blocks": "{% if a %}" * 3000 + "{% endif %}" * 3000,
    "deep lists": "{{ " + "[" * 9000 + "]" * 9000 + " }}",
}
ATTACKS = {**TOO_LONG, **TOO_LARGE, **DEEP}


def statuses(sources: Sequence[str]) -> list[int]:
    """Render each, and analyse it."""
    found = []
    for source in sources:
        analyse_limited(source, SECONDS, MEMORY)
        try:
            LimitedEngine(source, SECONDS, MEMORY).render({"a": 1})
            found.append(200)
        except BadRequest:
            found.append(400)
    return found


@pytest.mark.parametrize("sources", [TOO_LONG, TOO_LARGE, DEEP], ids=["long", "large", "deep"])
def test_attacks_stay_within_limits(sources: dict[str, str]) -> None:
    cost = spent(statuses, list(sources.values()))
    assert cost.status == 200, cost
    refused = [name for name, status in zip(sources, cost.outcome, strict=True) if status == 400]
    assert "joined by a method" in refused or sources is not TOO_LARGE
    assert sources is not TOO_LONG or refused == list(TOO_LONG)
    assert cost.memory < PEAK
    assert cost.seconds < len(sources) * 3 * (SECONDS + 0.5)


VALUES = st.sampled_from(
    ["x", "y", "'a'", "'é' * 9999", "range(99999)", "[x, y]", "(x, x)", "{'k': x}", "9 ** 99", "b"]
)
# fmt: off
FILTERS = st.sampled_from((
    "join(y)", "list", "string", "tojson(indent=4)", "replace('a', y)", "indent(999)", "batch(3, x)",
    "format(y)", "center(99999)", "upper", "urlize", "wordwrap(1)", "pprint", "xmlattr", "slice(999)", "unique",
    "sort", "sum(start=x)", "escape", "reverse", "groupby(0)", "items", "map('list')",
))
# fmt: on
STEPS = st.one_of(
    st.builds(lambda a, b: f"{{% set ns.v = {a} ~ {b} %}}", VALUES, VALUES),
    st.builds(lambda a, b: f"{{% set ns.v = {a} * 9 + {b} %}}", VALUES, VALUES),
    st.builds(lambda a, f: f"{{% set ns.v = {a} | {f} | list %}}", VALUES, FILTERS),
    st.builds(lambda a, b: f"{{% set ns.v = [{a}, {b}, ns.v] %}}", VALUES, VALUES),
    st.builds(lambda a: f"{{% set ns.v = ns.v.split({a}) %}}{{{{ ns.v }}}}", VALUES),
)
TEMPLATES = st.builds(
    lambda steps, times: (
        "{% set ns = namespace(v='a') %}{% set b = 'b' * 99999 %}{% for i in range(TIMES) %}".replace("TIMES", times)
        + "{% set x = ns.v %}{% set y = ns.v %}"
        + "".join(steps)
        + "{% endfor %}{{ ns.v }}"
    ),
    st.lists(STEPS, min_size=1, max_size=4),
    st.sampled_from(["3", "30", "99999"]),
)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TEMPLATES, min_size=15, max_size=15))
def test_no_template_takes_more_memory_than_its_setting(sources: list[str]) -> None:
    cost = spent(statuses, sources)
    assert cost.status == 200, cost
    assert cost.memory < PEAK
