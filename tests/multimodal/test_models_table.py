"""docs/models.md: what the code claims of every architecture, and what shows it.

python -m tests.multimodal.test_models_table     # rewrites the table
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle.pack.families import unsupported
from renderlayer.multimodal.families import FAMILIES, build
from renderlayer.multimodal.families.architectures import TAKEN
from renderlayer.multimodal.families.base import Facts, Family
from tests.multimodal.evidence import ALIKE, ANSWERED, KEPT, MORE_RECORDINGS, ORACLES, RECORDINGS
from tests.multimodal.processed import CASES, CLIP, Words
from tests.multimodal.recorded import media
from tests.multimodal.test_answers import RECORDED
from tests.multimodal.test_family_recordings import recorded

TABLE = Path(__file__).parents[2] / "docs" / "models.md"
MODALITIES = ("image", "video", "audio")
HEAD = """\
# Models with media

What is rendered of the architectures that vLLM 0.33 takes media for, by their names in `config.json`. It is written by
`python -m tests.multimodal.test_models_table` from what the code claims, and a test holds it to that. `renderlayer
inspect` says the same of a packed model.

- **exact**: token ids, hashes, ranges and tensors equal those of vLLM's own render server, to the last bit; of
  spectrograms and resampled sound, where its own bits depend on the processor, one on Intel's with AVX-512. Ranges are
  narrowed to the tokens that receive embeddings (docs/api.md, "Where answers differ from vLLM's on purpose").
- **approximate**: rendered, with the gap that the notes below the table name.
- **refused**: a request with such media gets 501 and the architecture's name; text is rendered. `pack` warns of it, and
  `pack --strict` refuses the model.
- **–**: the model does not take the medium.

The evidence is a set of recorded exchanges of the real server that the tests replay; or the server's answers about a
small model made for the purpose, of which digests are kept (`tests/multimodal/folders`); or the model's own processor,
with which the tests compare.

"""


def facts(architecture: str) -> Facts:
    config: dict[str, Any] = {
        "architectures": [architecture],
        "vision_config": CLIP,
        "audio_config": {},
        "candidate_resolutions": [[384, 384]],
        "llm_config": {"model_type": "qwen2"},
    }
    return Facts(config, {}, {}, {}, {}, Words())


def family_of(architecture: str) -> Family:
    family = build(facts(architecture))
    assert family is not None
    return family


def evidence(architecture: str) -> str:
    """In words; "" without any."""
    if architecture in RECORDINGS:
        return f"recordings ({RECORDINGS[architecture]})"
    if architecture in ALIKE:
        return f"the processor of {ALIKE[architecture]}"
    if architecture in KEPT:
        return "answers"
    return "its processor" if architecture in ORACLES else ""


def cell(architecture: str, modality: str) -> str:
    if architecture in FAMILIES and modality in (family := family_of(architecture)).modalities:
        return "approximate" if modality in family.gaps else "exact"
    return "refused" if modality in TAKEN.get(architecture, ()) else "–"


def table() -> str:
    names = sorted({*TAKEN, *FAMILIES}, key=str.lower)
    rows = ["| architecture | image | video | sound | evidence |", "|---|---|---|---|---|"]
    notes: dict[str, list[str]] = {}
    totals: Counter[str] = Counter()
    for name in names:
        cells = [cell(name, modality) for modality in MODALITIES]
        totals.update(set(cells) - {"–"})
        totals["wholly exact"] += set(cells) <= {"exact", "–"}
        shown = evidence(name) or (f"not packed: {unsupported(name)}" if unsupported(name) else "")
        rows.append(f"| {name} | {' | '.join(cells)} | {shown} |")
        for gap in family_of(name).gaps.values() if name in FAMILIES else ():
            notes.setdefault(gap, []).append(name)
    counted = (
        f"{totals['wholly exact']} of {len(names)} are exact in all that they take, {totals['exact']} in some of it."
    )
    gaps = [f"- {', '.join(sorted(set(of)))}: {gap}." for gap, of in sorted(notes.items())]
    return "\n".join([HEAD + counted, "", *rows, "", "## Gaps", "", *gaps, ""])


def test_the_page_is_what_the_code_claims() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(), "run python -m tests.multimodal.test_models_table"


def test_every_claim_has_its_evidence() -> None:
    for name in FAMILIES:
        if "exact" in {cell(name, modality) for modality in MODALITIES}:
            assert evidence(name), name
    assert set(RECORDINGS) | set(ALIKE) | set(ORACLES) | KEPT <= set(FAMILIES)
    assert set(ALIKE.values()) <= set(RECORDINGS)
    assert set(ORACLES.values()) <= set(CASES)


@pytest.mark.parametrize("name", sorted(RECORDINGS))
def test_recordings_show_each_medium(shared: Path, name: str) -> None:
    """Sets of an architecture hold answers with every medium that is called exact."""
    exact = {modality for modality in MODALITIES if cell(name, modality) == "exact"}
    seen = {
        item.modality
        for case in recorded(shared, RECORDINGS[name])
        if case["status"] == 200 and isinstance(case.get("request"), dict)
        for item in media(case)
    }
    assert exact <= seen | {modality for architecture, modality in ANSWERED if architecture == name}


@pytest.mark.parametrize("name", sorted(KEPT - set(RECORDINGS)))
def test_answers_show_each_medium(name: str) -> None:
    """Of every medium that is called exact the server answered with tensors."""
    exact = {modality for modality in MODALITIES if cell(name, modality) == "exact"}
    assert exact <= {
        modality
        for answer in RECORDED[name].values()
        for modality, items in (answer.get("kwargs_data") or {}).items()
        if items
    }


def test_more_recordings_are_of_known_models(shared: Path) -> None:
    assert all((shared / "corpus" / f"{name}.jsonl.gz").exists() for name in MORE_RECORDINGS)


if __name__ == "__main__":
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(table(), encoding="utf-8")
