"""minijinja is used only where it renders as jinja2 does."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.bundle.engines.mini import MiniEngine, Unfit, without_generation_tags
from renderlayer.bundle.pack.probes.conversations import cases
from renderlayer.errors import BadRequest
from tests.models import CHATML


@pytest.mark.parametrize(
    "value", [1e-7, -1e16, 3.0, 0.0, float("inf"), float("nan"), 1 << 200, [{"a": 1e-5}], "a\x1c", ["é\ud800"]]
)
def test_values_that_it_would_write_otherwise_go_to_jinja2(value: Any) -> None:
    engine = MiniEngine("{{ v }}|{{ v | tojson }}")
    with pytest.raises(Unfit):
        engine.render_strict({"v": value})
    assert engine.render({"v": value}) == JinjaEngine("{{ v }}|{{ v | tojson }}").render({"v": value})


@pytest.mark.parametrize("value", [0.5, 1e15 + 0.5, 123456.789, 2.50, -3, 1 << 100, True, None, "é\n<&>", [1, "a"]])
def test_other_values_are_written_alike(value: Any) -> None:
    source = "{{ v }}|{{ v | tojson }}|{{ v is iterable }}|{{ v is string }}"
    assert MiniEngine(source).render_strict({"v": value}) == JinjaEngine(source).render({"v": value})


@pytest.mark.parametrize(
    "source",
    [
        "{% generation %}\nx\n{% endgeneration %}\ny",
        "a  {%- generation -%}  x  {%- endgeneration -%}  b",
        "  {% generation %}x{% endgeneration %}  ",
        "{% if true %}\n  {%- generation %}\n x\n  {% endgeneration -%}\n{% endif %}",
    ],
)
def test_generation_tags_leave_the_same_white_space(source: str) -> None:
    assert "generation" not in without_generation_tags(source)
    assert MiniEngine(source).render_strict({}) == JinjaEngine(source).render({})


def test_failures_have_jinja2s_words() -> None:
    with pytest.raises(BadRequest, match=r"^'a' is undefined$"):
        MiniEngine("{{ a.b }}").render({})
    with pytest.raises(BadRequest, match=r"^stop$"):
        MiniEngine("{{ raise_exception('stop') }}").render({})


def test_conversations_render_alike() -> None:
    jinja, mini = JinjaEngine(CHATML), MiniEngine(CHATML)
    for case in cases("string"):
        context = {"messages": case.conversation, "tools": case.tools, **case.kwargs}
        assert mini.render_strict(context) == jinja.render(context)
