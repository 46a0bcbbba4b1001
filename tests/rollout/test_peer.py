"""Our bridges and those of the package `renderers`: the same, or a difference with a name (docs/continue.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from renderlayer import LoadedModel
from renderlayer.rollout.renderers import Adapter
from renderlayer.served_model import ServedModel
from tests.harmony_library import harmony_encoding
from tests.render.continuing.conversations import ids
from tests.rollout.peer import FAMILIES, compare, load

base = pytest.importorskip("renderers.base", reason="needs renderers==0.1.12, which has no place in the lock")
pytest.importorskip("transformers")

NAMED = {  # what the peer writes by hand and this template does not
    "gpt-oss": ("different: '<|channel|>commentary to' where theirs is ' to=assistant<|channel|>'",),  # vLLM's order
    "kimi-k2": ("different: 'tool<|im_middle|>## Retu' where theirs is 'get_weather<|im_middle|>'",),
}


@pytest.fixture(scope="module")
def folder(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("peer")
    (made / "o200k").mkdir()
    with harmony_encoding(shared / "models" / "tiny-gptoss" / "tokenizer.json", made / "o200k"):
        yield made


def peer_of(name: str, folder: Path) -> tuple[ServedModel, Any]:
    server, tokenizer = load(FAMILIES[name], folder)
    base._populate_registry()
    try:
        return server, base.RENDERER_REGISTRY[name](tokenizer)
    except AssertionError as error:
        pytest.skip(f"the peer does not take this tokenizer: {error}")


@pytest.mark.parametrize("name", FAMILIES)
def test_bridges(name: str, folder: Path) -> None:
    found, _, _ = compare(*peer_of(name, folder), 60)
    for verdict in found:
        assert verdict in ("same", "ours only", *NAMED.get(name, ())), found


def test_the_adapter_has_the_peers_protocol(folder: Path) -> None:
    server, peer = peer_of("qwen3", folder)
    adapter = Adapter(LoadedModel(server))
    assert isinstance(adapter, base.Renderer)
    talk: Any = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day"}]
    assert adapter.render_ids(talk) == peer.render_ids(talk)
    mine, other = adapter.render(talk), peer.render(talk)
    assert (mine.token_ids, mine.sampled_mask) == (other.token_ids, other.sampled_mask)
    assert mine.message_roles == other.message_roles
    prompt = adapter.render_ids(talk[:1], add_generation_prompt=True)
    output = ids(server, "Good day<|im_end|>")
    parsed = adapter.parse_response(output, prompt_ids=prompt)
    assert parsed.content == "Good day"
    new: Any = [{"role": "user", "content": "Again"}]
    bridged = adapter.bridge_to_next_turn(prompt, output, new)
    assert bridged.token_ids[: len(prompt) + len(output)] == [*prompt, *output]
    more: Any = [{"role": "user", "content": "More"}]
    assert adapter.bridge_to_next_turn(bridged.token_ids, output, more) is not None
    assert adapter.bridge_to_next_turn([*prompt, 1], output, new) is None
    assert set(adapter.get_stop_token_ids()) >= {output[-1]}
