"""A shorter conversation stands for a long one, and changes the time that the next turn takes, and nothing else."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from renderlayer.bundle import open_bundle
from renderlayer.errors import RenderLayerError
from renderlayer.render.continuing import again
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.turn_end import CALL, CONTENT, turn_end
from renderlayer.render.continuing.windows import Windows, window_of, windows
from renderlayer.render.continuing.writing import Writer
from renderlayer.render.dialect import CHAT
from renderlayer.served_model import ServedModel
from tests.render.continuing.conversations import TOOLS, USER, Json, ids, render
from tests.render.continuing.laws import said
from tests.render.continuing.museum import make_museum, with_template

TEMPLATES = Path(__file__).resolve().parents[4] / "shared" / "templates"
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def turn(random: Random, number: int, shapes: str) -> tuple[Json, str, list[Json]]:
    """A turn, what was sampled for it, and what follows."""
    kind = random.choice(shapes)
    words = said(random, 1).strip() or "Well"
    thought = {"reasoning": "because " + words} if kind.isupper() else {}
    spelled = f"{thought['reasoning']}</think>\n\n" if thought else ""
    if kind in "uU":
        message = {"role": "assistant", "content": words, **thought}
        return message, spelled + words, [{"role": "user", "content": said(random, 1)}]
    calls = [
        {"id": f"call{number}{at}", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
        for at in range(1 if kind in "tT" else 2)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls, **thought}
    results = [{"role": "tool", "tool_call_id": call["id"], "content": said(random, 1)} for call in calls]
    return message, spelled + '{"name": "get_weather"}' * len(calls), results


def rollout(server: ServedModel, random: Random, turns: int, shapes: str, closer: str, **body: Any) -> list[Json]:
    """The answers of a rollout of random turns."""
    messages, answers = [USER], [render(server, [USER], **body)]
    for number in range(turns):
        message, sampled, new = turn(random, number, shapes)
        output = ids(server, sampled + closer)
        given = {"prompt_token_ids": answers[-1]["token_ids"], "output_token_ids": output}
        given |= {"messages": len(messages) + 1}
        messages = [*messages, message, *new]
        answers.append(render(server, messages, continue_from=given, **body))
    return answers


def told(answers: list[Json]) -> list[Any]:
    return [(row["token_ids"], row.get("continuation")) for row in answers]


def fresh(server: ServedModel, template: str | None = None) -> ServedModel:
    """The model in a process that remembers nothing, with another template."""
    settings = replace(server.settings, chat_template=template or server.settings.chat_template)
    model = open_bundle(Path(settings.model), settings) if template else server.model
    return ServedModel(model, settings)


def both(server: ServedModel, monkeypatch: pytest.MonkeyPatch, *given: Any, **body: Any) -> tuple[list[Json], int]:
    """The answers with windows, which are those without, and how many turns were written behind one."""
    used: list[Any] = []
    in_short = again._in_short

    def counted(*given: Any) -> Any:
        found = in_short(*given)
        used.extend([found] if found else [])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(again, "_in_short", counted)
        found = rollout(fresh(server), *given, **body)
        patch.setattr(again, "_in_short", lambda *given: None)
        without = rollout(fresh(server), Random(given[0].seed_of), *given[1:], **body)
    assert told(found) == told(without)
    return found, len(used)


class Seeded(Random):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seed_of = seed


@pytest.mark.parametrize("shapes", ["t", "tu", "u", "tmT", "tuTUmM"])
def test_answers_are_those_without_windows(server: ServedModel, monkeypatch: pytest.MonkeyPatch, shapes: str) -> None:
    body = {"tools": TOOLS, "tool_choice": "none"}
    found, used = both(server, monkeypatch, Seeded(len(shapes)), 24, shapes, "<|im_end|>", **body)
    assert any(row["continuation"]["mode"] == "extended" for row in found[1:])
    assert used >= (10 if shapes.islower() else 0)


@pytest.mark.parametrize(
    "counting",
    [
        "{{ messages | length }}",
        "{% if messages | length > 21 %}long{% endif %}",
        "{% if messages | length % 4 == 3 %}third{% endif %}",
        "{% if messages | length % 3 == 0 %}third{% endif %}",
        "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    ],
)
def test_a_template_that_counts_is_always_written_as_a_whole(server: ServedModel, counting: str) -> None:
    """The suffix is what a full render ends with, whatever the template counts."""
    served = fresh(server, CHATML.replace("assistant\n", f"assistant{counting}\n"))
    random, messages = Random(5), [USER]
    answer = render(served, messages)
    for number in range(30):
        message, sampled, new = turn(random, number, "u")
        given = {"prompt_token_ids": answer["token_ids"], "output_token_ids": ids(served, sampled + "<|im_end|>")}
        given |= {"messages": len(messages) + 1}
        messages = [*messages, message, *new]
        answer = render(served, messages, continue_from=given)
        full = render(served, messages)["token_ids"]
        count = answer["continuation"]["appended"]
        assert answer["token_ids"][-count:] == full[-count:]


def test_a_window_that_is_wrong_is_found_out(server: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the numbers of the template do not tell, the trial does."""
    counting = "{% if messages | length > 4 * 4 %}long{% endif %}"
    served = fresh(server, CHATML.replace("assistant\n", f"assistant{counting}\n"))
    failed: list[Any] = []
    fails = Windows.fails
    monkeypatch.setattr(Windows, "fails", lambda *given: failed.append(given) or fails(*given))
    rollout(served, Random(1), 20, "u", "<|im_end|>")
    assert len(failed) == 1
    assert list(served.derived(windows)._words.values()) == [None]


def test_a_window_has_one_of_each_shape_on_either_side_of_the_last_question() -> None:
    def cycle(name: str, role: str) -> list[Json]:
        return [{"role": "assistant", "content": name}, {"role": role, "content": name}]

    names = ["a", "b", "a", "a", "b", "a", "q", "a", "a", "b", *"aaaaaaaaaaaa"]
    shown = [USER, *(row for name in names for row in cycle(name, "user" if name == "q" else "tool"))]
    found = window_of(shown, names)
    assert found is not None
    short, kept = found
    assert kept == ("a", "b", "b", "a", "q", "a", "b", "a", "a")
    assert [row["content"] for row in short[1::2]] == ["a", "b", "b", "a", "q", "a", "b", "a", "a"]
    assert window_of(shown[:11], names[:5]) is None


@pytest.mark.parametrize("modulus", [1, 2, 3, 4])
def test_a_multiple_is_left_out(modulus: int) -> None:
    turns = [{"role": "assistant", "content": ""}, {"role": "tool", "content": ""}]
    for count in range(8, 30):
        found = window_of([USER, *turns * count], ["a"] * count, modulus)
        assert found is None or (count - len(found[1])) % modulus == 0


@pytest.mark.long
@pytest.mark.skipif(not TEMPLATES.is_dir(), reason="../shared/templates is not there")
def test_for_every_template(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = make_museum(TEMPLATES, tmp_path_factory.mktemp("museum"))
    used: dict[tuple[str, str], int] = {}
    for file in sorted(TEMPLATES.glob("*.jinja")):
        served = with_template(bundle, file)
        for shapes in ("t", "tuTU", "u"):
            body = {"tools": TOOLS, "tool_choice": "none"} if shapes != "u" else {}
            with suppress(RenderLayerError, NotExtended):
                given = (Seeded(3), 16, shapes, _closer(served, body))
                used[file.name, shapes] = both(served, monkeypatch, *given, **body)[1]
    assert sum(map(bool, used.values())) >= 60


def _closer(server: ServedModel, body: Json) -> str:
    writer = Writer(server, {"add_generation_prompt": True}, body.get("tools"), None, None, CHAT)
    try:
        return turn_end(writer, CALL, "tool").closer
    except NotExtended:
        return turn_end(writer, CONTENT, "user").closer
