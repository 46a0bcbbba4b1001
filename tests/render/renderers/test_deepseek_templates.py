"""DeepSeek's programs against the templates that others published for the same models, where those are faithful."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.render.renderers.deepseek_v4 import DeepSeekV4
from renderlayer.render.renderers.deepseek_v32 import DeepSeekV32
from renderlayer.render.renderers.dsml import BEGIN, END_THINK, THINK
from renderlayer.render.renderers.prompt_encoder import PromptEncoder

TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Größe", "parameters": {"type": "object"}}}
    for name in ("find", "get")
]
ARGUMENTS: list[dict[str, Any]] = [{"a": ""}, {"a": 'x"y<z>'}, {"a": 1.5, "b": [1, {"é": None}]}, {"q": True}]


@pytest.mark.parametrize(
    ("program", "template"),
    [(DeepSeekV32(), "DeepSeek-V3.2.jinja"), (DeepSeekV4(), "DeepSeek-V4-Flash-0731.jinja")],
)
def test_equal_text(program: PromptEncoder, template: str, shared: Path) -> None:
    engine = JinjaEngine((shared / f"templates/deepseek-ai-{template}").read_text("utf-8"))
    chance = random.Random(1)
    for _ in range(300):
        conversation = make_conversation(chance)
        kwargs = {"thinking": chance.random() < 0.7, "reasoning_effort": chance.choice(["low", "high", "max"])}
        tools = TOOLS if chance.random() < 0.5 or calls_in(conversation) else None
        context = {
            "messages": conversation,
            "tools": tools,
            "add_generation_prompt": True,
            "bos_token": BEGIN,
            **kwargs,
        }

        text = program.render(conversation, tools, None, kwargs)

        assert text == engine.render(context).replace(THINK + END_THINK, END_THINK)


def make_conversation(chance: random.Random) -> list[dict[str, Any]]:
    """A conversation that ends with the user or with a result; every result is answered before the user speaks."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    thought = {"reasoning": "Hm.", "reasoning_content": "Hm."}
    for _ in range(chance.randint(1, 3)):
        messages.append({"role": "user", "content": chance.choice(["Hi", "你好", "a\nb"])})
        if chance.random() < 0.6:
            functions = [{"name": chance.choice(["find", "get"]), "arguments": chance.choice(ARGUMENTS)} for _ in "ab"]
            calls = [{"id": f"call-{i}", "type": "function", "function": row} for i, row in enumerate(functions)]
            messages.append({"role": "assistant", "content": "", "tool_calls": calls, **thought})
            messages += ({"role": "tool", "content": call["id"], "tool_call_id": call["id"]} for call in calls)
        messages.append({"role": "assistant", "content": "Answer.", **thought})
    messages.pop()
    return messages


def calls_in(messages: list[dict[str, Any]]) -> bool:
    return any("tool_calls" in message for message in messages)
