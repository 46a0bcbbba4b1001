"""What a process remembers of extended prompts changes the time that the next turn takes, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.render.continuing import extend, proofs
from renderlayer.render.continuing.proofs import Proofs
from renderlayer.render.continuing.refusal import NOT_THE_HISTORY
from renderlayer.served_model import ServedModel
from tests.render.continuing.conversations import NEXT, RESULT, USER, Json, call, ids, render

ODD = '<tool_call>\n{"name":"get_weather",  "arguments": {"city":"Oslo" }}\n</tool_call><|im_end|>'
OTHER = {"role": "user", "content": "And elsewhere?"}


def rollout(
    server: ServedModel, turns: int, last: list[Json] | None = None, **body: Any
) -> tuple[list[Json], list[Json]]:
    """Messages and answers of a rollout whose turns call a tool; its last message may be another."""
    messages, answers = [USER], [render(server, [USER])]
    for turn in range(turns):
        said = call(arguments=f'{{"city": "Oslo {turn}"}}')
        new = last if last and turn == turns - 1 else [RESULT, {**NEXT, "content": f"And {turn}?"}]
        given = {"prompt_token_ids": answers[-1]["token_ids"], "output_token_ids": ids(server, ODD)}
        messages = [*messages, said, *new]
        held = len(messages) - len(new)
        answers.append(render(server, messages, continue_from={**given, "messages": held}, **body))
    return messages, answers


@pytest.fixture
def fresh(server: ServedModel) -> ServedModel:
    """The model in a process that remembers nothing."""
    return ServedModel(server.model, server.settings)


def test_nothing_of_the_old_part_is_looked_at_again(fresh: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[int] = []
    whole = extend._extension
    monkeypatch.setattr(extend, "_extension", lambda *given: proved.append(len(given[1])) or whole(*given))
    _, answers = rollout(fresh, 5)
    assert len(proved) == 1
    monkeypatch.setattr(Proofs, "find", lambda *given: None)
    _, again = rollout(ServedModel(fresh.model, fresh.settings), 5)
    assert len(proved) == 6
    assert [row["token_ids"] for row in answers] == [row["token_ids"] for row in again]
    assert [row.get("continuation") for row in answers] == [row.get("continuation") for row in again]


def test_a_change_of_what_is_remembered_is_seen(fresh: ServedModel) -> None:
    messages, answers = rollout(fresh, 3)
    prompt = answers[-1]["token_ids"]
    given = {"prompt_token_ids": prompt, "output_token_ids": ids(fresh, ODD), "messages": len(messages) + 1}
    more = [*messages, call(), RESULT]
    assert render(fresh, more, continue_from=given)["continuation"]["mode"] == "extended"
    for changed in ([OTHER, *more[1:]], [*more[:4], OTHER, *more[5:]]):
        assert render(fresh, changed, continue_from=given)["continuation"]["reason"] == NOT_THE_HISTORY
    other = {**given, "prompt_token_ids": [prompt[0] + 1, *prompt[1:]]}
    assert render(fresh, more, continue_from=other)["continuation"]["reason"] == NOT_THE_HISTORY


def test_no_more_is_kept_than_is_allowed(fresh: ServedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "_ENTRIES", 3)
    rollout(fresh, 6)
    kept = fresh.derived(proofs.proofs)
    assert len(kept._kept) == 3
    monkeypatch.setattr(proofs, "_CHARACTERS", 10)
    rollout(fresh, 1, [OTHER])
    assert len(kept._kept) == 1
    assert kept._characters == sum(len(proof.whole.text) for proof in kept._kept.values())
