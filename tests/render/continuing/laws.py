"""Laws of continuing, checked on random conversations at every turn of the assistant."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

from renderlayer.errors import RenderLayerError
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.turn_end import CALL, CONTENT, turn_end
from renderlayer.render.continuing.writing import Writer
from renderlayer.render.dialect import CHAT
from renderlayer.served_model import ServedModel
from tests.render.continuing.conversations import TOOLS, Json, ids, render

WORDS = (
    "Oslo", "weather", "the", "is", "21", "degrees", "é", "日本", "👍🏽", "naïve", "\n", "\n\n", "  ", "{", "}",
    "[1, 2]", "true", "False", "null", '"quoted"', "it's", "<b>", "&amp;", "e\u0301", "ﬁ", "user", "assistant",
    "tool", "a_b-c",
)  # fmt: skip


def said(random: Random, least: int = 0) -> str:
    """A text; sometimes none, or one with white space around it."""
    return " ".join(random.choice(WORDS) for _ in range(random.randrange(least, 9)))


def conversation(random: Random, calls: bool, thinks: bool) -> list[Json]:
    """A conversation that ends with a message of the user or of a tool, with one to four turns of the assistant."""
    messages: list[Json] = [{"role": "system", "content": said(random, 1)}] if random.random() < 0.5 else []
    messages.append({"role": "user", "content": said(random, 1)})
    for number in range(random.randrange(1, 5)):
        turn: Json = {"role": "assistant", "content": said(random, 1)}
        if thinks and random.random() < 0.6:
            turn["reasoning"] = "because " + said(random)
        if calls and random.random() < 0.6:
            count = random.choice((1, 1, 2))
            named = [f"call{number}{index:04}" for index in range(count)]
            turn["content"] = random.choice((None, "", said(random)))
            turn["tool_calls"] = [_call(random, name) for name in named]
            messages.append(turn)
            messages += [
                {"role": "tool", "tool_call_id": name, "name": "get_weather", "content": said(random)} for name in named
            ]
        else:
            messages += [turn, {"role": "user", "content": said(random)}]
    return messages


def _call(random: Random, name: str) -> Json:
    arguments = random.choice(
        ('{"city": "Oslo"}', '{"city": "日本 \\"x\\"\\n", "days": 3}', "{}", '{"deep": {"a": [1, true]}}')
    )
    return {"id": name, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}


def check(server: ServedModel, messages: list[Json], tools: bool, **body: Any) -> Counter[str]:
    """Split a conversation at every turn of the assistant and go on from each; returns how often which mode came out.

    What is sampled is what the history writes, where it goes on from the prompt; else words of the turn.
    """
    body = {"tools": TOOLS, "tool_choice": "none", **body} if tools else body
    found: Counter[str] = Counter()
    with suppress(RenderLayerError, NotExtended):
        _check(server, messages, body, found)
    return found


def _check(server: ServedModel, messages: list[Json], body: Json, found: Counter[str]) -> None:
    writer = Writer(server, {"add_generation_prompt": True}, TOOLS if "tools" in body else None, None, None, CHAT)
    for at in [at for at, message in enumerate(messages) if message["role"] == "assistant"]:
        stop = next((i for i in range(at + 1, len(messages)) if messages[i]["role"] == "assistant"), len(messages))
        upto = messages[:stop]
        if stop == at + 1:
            continue
        prompt = render(server, messages[:at], **body)["token_ids"]
        full = render(server, upto, **body)["token_ids"]
        turn, canonical = _sampled(writer, upto, at)
        output = ids(server, turn)
        given = {"prompt_token_ids": prompt, "output_token_ids": output, "messages": at + 1}
        rendered = render(server, upto, continue_from=given, **body)
        told = rendered["continuation"]
        if told["mode"] == "rendered":
            found[told["reason"]] += 1
            assert rendered["token_ids"] == full
            continue
        found["extended"] += 1
        assert rendered["token_ids"][: told["kept"]] == [*prompt, *output]
        suffix = rendered["token_ids"][told["kept"] :]
        assert suffix == full[len(full) - len(suffix) :], (writer.text(suffix), writer.text(full))
        if canonical:
            found["canonical"] += 1
            assert writer.text(rendered["token_ids"]) == writer.text(full)


def _sampled(writer: Writer, messages: list[Json], at: int) -> tuple[str, bool]:
    """What the model would have written as the turn, and whether that is what the history has."""
    turn, following = messages[at], messages[at + 1]["role"]
    kind = CALL if turn.get("tool_calls") else CONTENT
    try:
        closer = turn_end(writer, kind, following).closer
    except NotExtended:
        closer = turn_end(writer, CONTENT, following).closer
    prompt = writer.write(messages[:at], generate=True).text
    history = writer.write(messages, generate=True).text
    if closer and history.startswith(prompt):
        end = history.find(closer, len(prompt))
        rest = history[len(prompt) : end]
        named = all(call["function"]["name"] in rest for call in turn.get("tool_calls") or ())
        if end >= 0 and (turn.get("content") or "").strip() in rest and named and _alone(rest, turn):
            return rest + closer, True
    thought = f"{turn['reasoning']}</think>\n\n" if turn.get("reasoning") else ""
    calls = [call["function"]["name"] + call["function"]["arguments"] for call in turn.get("tool_calls") or ()]
    return "".join([thought, turn["content"] or "", *calls, closer]), False


def _alone(text: str, turn: Json) -> bool:
    """Whether the reasoning of the turn is in its text, if it has some."""
    return (turn.get("reasoning") or "").strip() in text
