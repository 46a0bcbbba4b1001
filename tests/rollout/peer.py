"""Bridges of the package `renderers` beside ours, on the same tokenizers and random conversations.

    python -m tests.rollout.peer [conversations a family]

It needs the package (`pip install renderers==0.1.12`), transformers, and ../shared.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.turn_end import CALL, CONTENT, turn_end
from renderlayer.render.continuing.writing import Writer
from renderlayer.render.dialect import CHAT
from renderlayer.render.spans.parts import common_start
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.harmony_library import harmony_encoding
from tests.render.continuing.conversations import TOOLS, Json, ids, render
from tests.render.continuing.laws import said
from tests.render.continuing.museum import make_museum, with_template

SHARED = Path(__file__).resolve().parents[3] / "shared"
FAMILIES = {  # the peer's name → a model of ../shared, or a template on a tokenizer with its markers
    "qwen3": "tiny-qwen3",
    "llama-3": "tiny-llama3.1",
    "gpt-oss": "tiny-gptoss",
    "deepseek-v3": "tiny-deepseek",
    "kimi-k2": "moonshotai-Kimi-K2.jinja",
    "glm-4.5": "trl-glm4moe.jinja",
    "minimax-m2": "MiniMax-M2.jinja",
}


def load(source: str, folder: Path) -> tuple[ServedModel, Any]:
    """The model as we serve it, and its tokenizer as the peer takes it."""
    from transformers import PreTrainedTokenizerFast

    if source.endswith(".jinja"):
        bundle = folder / "museum.bundle"
        if not bundle.exists():
            make_museum(SHARED / "templates", folder)
        server = with_template(bundle, SHARED / "templates" / source)
    else:
        bundle = pack(SHARED / "models" / source, folder / source)
        settings = Settings(model=str(bundle))
        server = ServedModel(open_bundle(bundle, settings), settings)
    special = server.model.facts.special_tokens
    named = {name: special[name] for name in ("bos_token", "eos_token", "pad_token") if special.get(name)}
    return server, PreTrainedTokenizerFast(tokenizer_file=str(bundle / "tokenizer.json"), **named)


def conversation(random: Random) -> tuple[list[Json], Json, list[Json]]:
    """What is asked, the turn that is sampled, and what follows it."""
    before: list[Json] = [{"role": "system", "content": "Be brief."}] if random.random() < 0.5 else []
    before.append({"role": "user", "content": said(random, 1).strip() or "Well"})
    words = said(random, 1).strip() or "Well"
    if random.random() < 0.5:
        return before, {"role": "assistant", "content": words}, [{"role": "user", "content": said(random, 1)}]
    function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    call = {"id": "functions.get_weather:0", "type": "function", "function": function}
    result = {"role": "tool", "tool_call_id": call["id"], "name": "get_weather", "content": said(random, 1)}
    return before, {"role": "assistant", "content": None, "tool_calls": [call]}, [result]


def compare(server: ServedModel, peer: Any, count: int) -> tuple[Counter[str], float, float]:
    """How often which came out, and the seconds of the peer's bridges and of ours."""
    random, found, theirs, ours = Random(17), Counter[str](), 0.0, 0.0
    body = {"tools": TOOLS, "tool_choice": "none"}
    writer = Writer(server, {"add_generation_prompt": True}, TOOLS, None, None, CHAT)
    for _ in range(count):
        before, turn, new = conversation(random)
        prompt = render(server, before, **body)["token_ids"]
        try:
            kind = CALL if turn.get("tool_calls") else CONTENT
            closer = turn_end(writer, kind, new[0]["role"]).closer
        except NotExtended:
            closer = ""
        spelled = [f'{{"name": "{row["function"]["name"]}"}}' for row in turn.get("tool_calls") or ()]
        output = ids(server, "".join([turn["content"] or "", *spelled, closer]))
        start = time.thread_time()
        bridged = peer.bridge_to_next_turn(prompt, output, new, tools=[tool["function"] for tool in TOOLS])
        theirs += time.thread_time() - start
        given = {"prompt_token_ids": prompt, "output_token_ids": output, "messages": len(before) + 1}
        start = time.thread_time()
        mine = render(server, [*before, turn, *new], continue_from=given, **body)
        ours += time.thread_time() - start
        found[_verdict(server, bridged, mine)] += 1
    return found, theirs, ours


def _verdict(server: ServedModel, bridged: Any, mine: Json) -> str:
    told = mine["continuation"]
    if bridged is None:
        return "neither" if told["mode"] == "rendered" else "ours only"
    if told["mode"] == "rendered":
        return f"theirs only: {told['reason']}"
    if bridged.token_ids == mine["token_ids"]:
        return "same"
    decode = server.model.tokenizer.decode
    kept = told["kept"]
    full = decode(mine["token_ids"][kept:], skip_special_tokens=False)
    other = decode(list(bridged.token_ids)[kept:], skip_special_tokens=False)
    at = common_start(full, other)
    return f"different: {full[at:][:24]!r} where theirs is {other[at:][:24]!r}"


def main() -> None:
    from renderers import base

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    base._populate_registry()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        vocabulary = Path(folder) / "o200k"
        vocabulary.mkdir()
        stack.enter_context(harmony_encoding(SHARED / "models" / "tiny-gptoss" / "tokenizer.json", vocabulary))
        for name, source in FAMILIES.items():
            try:
                server, tokenizer = load(source, Path(folder))
                peer = base.RENDERER_REGISTRY[name](tokenizer)
                found, theirs, ours = compare(server, peer, count)
            except Exception as error:
                print(f"{name:<12} not compared: {type(error).__name__}: {str(error)[:160]}")
                continue
            print(f"{name:<12} theirs {theirs / count * 1e3:.2f} ms, ours {ours / count * 1e3:.2f} ms")
            for verdict, times in found.most_common(6):
                print(f"    {times:>5}  {verdict}")


if __name__ == "__main__":
    main()
