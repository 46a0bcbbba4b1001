"""Real tokenizers and real chat templates, where they lie beside the project."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from renderlayer.bundle import Model, open_bundle
from renderlayer.bundle.analysis import analyse
from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.bundle.engines.limited import LimitedEngine
from renderlayer.bundle.pack import pack_source
from renderlayer.bundle.pack.probes.conversations import cases
from renderlayer.bundle.pack.probes.texts import fuzz_texts
from renderlayer.bundle.pack.source import find_source
from renderlayer.errors import BadRequest

MODELS = (
    "tiny-deepseek",
    "tiny-deepseek-r1",
    "tiny-gemma3",
    "tiny-gptoss",
    "tiny-llama3.1",
    "tiny-qwen2.5-vl",
    "tiny-qwen3",
    "tiny-qwen3-vl",
    "tiny-zoo",
)
CONTEXT = {
    "tiny-deepseek": 163840,
    "tiny-gemma3": 131072,
    "tiny-gptoss": 131072,
    "tiny-llama3.1": 131072,
    "tiny-qwen3": 40960,
    "tiny-qwen3-vl": 262144,
}
"""As the reference reports it at /v1/models."""


@pytest.fixture(scope="module", params=MODELS)
def real(request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Model:
    out = tmp_path_factory.mktemp("bundles") / request.param
    pack_source(find_source(str(shared / "models" / request.param)), out, fastokens=False)
    return open_bundle(out)


@pytest.mark.long
def test_ids_and_texts_are_those_of_tokenizers(real: Model) -> None:
    assert real.tokenizer.engine == "kitoken"
    source, reference = random.Random(5), real.tokenizer.reference
    ids = source.sample(range(len(real.vocabulary)), k=1000)
    pieces = [text for token_id in ids if (text := reference.decode([token_id], skip_special_tokens=False))]
    # another seed than the one of packing: these texts were not seen there
    for text in fuzz_texts(800, list(real.vocabulary.added), pieces, seed=1234):
        expected = reference.encode(text, add_special_tokens=True).ids
        assert real.tokenizer.encode(text, add_special_tokens=True) == expected
        cut = expected[source.randrange(len(expected) + 1) :]
        for skip in (True, False):
            assert real.tokenizer.decode(cut, skip) == reference.decode(cut, skip_special_tokens=skip)


@pytest.mark.long
def test_context_is_the_references(real: Model) -> None:
    assert real.facts.max_model_len == CONTEXT.get(real.facts.name, real.facts.max_model_len)


def _without_place(message: str) -> str:
    """An error's text; where in the interpreter a recursion came to its end depends on how deep the test runs."""
    return message.partition(" while calling")[0]


@pytest.mark.long
def test_every_template_renders_the_same_under_limits(shared: Path) -> None:
    paths = sorted((shared / "templates").glob("*.jinja"))
    rendered = 0
    for path in paths:
        source = path.read_text(encoding="utf-8")
        plain, limited, analysis = JinjaEngine(source), LimitedEngine(source, 20.0, 256 << 20), analyse(source)
        assert "messages" in analysis.variables
        for case in list(cases(analysis.content_format))[::19]:
            context = {"messages": case.conversation, "tools": case.tools, **case.kwargs}
            try:
                expected = plain.render(context)
            except BadRequest as error:
                with pytest.raises(BadRequest) as refused:
                    limited.render(context)
                assert _without_place(str(refused.value)) == _without_place(str(error))
            else:
                assert limited.render(context) == expected
                rendered += 1
    assert len(paths) > 150
    assert rendered > 700
