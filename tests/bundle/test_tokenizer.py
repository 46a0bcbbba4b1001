"""Encoding and decoding equal Hugging Face `tokenizers`, for every kind of tokenizer, with the engine chosen for it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.bundle import Model, open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.bundle.tokenizer import Tokenizer, divergent_pattern
from renderlayer.errors import BadRequest
from tests.bundle.conftest import MakeFolder
from tests.bundle.tokenizers_made import SPECIAL

_PARTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        [*SPECIAL, "<s", "s>", "<|im_", "The quick", " fox", "  ", "\n\n", "▁", "▁▁", "e\u0301", "<0x41>", "é"]
    ),
)
TEXTS = st.lists(_PARTS, max_size=8).map("".join)


@given(text=TEXTS, special=st.booleans())
@settings(max_examples=150, deadline=None)
def test_ids_are_those_of_tokenizers(packed: Model, text: str, special: bool) -> None:
    expected = packed.tokenizer.reference.encode(text, add_special_tokens=special).ids
    assert packed.tokenizer.encode(text, add_special_tokens=special) == expected


@given(data=st.data(), skip=st.booleans())
@settings(max_examples=150, deadline=None)
def test_text_is_that_of_tokenizers(packed: Model, data: st.DataObject, skip: bool) -> None:
    ids = data.draw(st.lists(st.integers(0, len(packed.vocabulary) + 2), max_size=12))
    expected = packed.tokenizer.reference.decode(ids, skip_special_tokens=skip)
    assert packed.tokenizer.decode(ids, skip_special_tokens=skip) == expected


@given(text=TEXTS)
@settings(max_examples=50, deadline=None)
def test_offsets_are_code_points(packed: Model, text: str) -> None:
    ids, offsets = packed.tokenizer.encode_with_offsets(text)
    assert ids == packed.tokenizer.encode(text)
    assert len(ids) == len(offsets)
    assert all(0 <= start <= end <= len(text) for start, end in offsets)


def test_characters_outside_the_plane_count_as_one(packed: Model) -> None:
    _, offsets = packed.tokenizer.encode_with_offsets("👍 a")
    assert offsets[-1][1] == 3


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "<|im_end|>\ud83d"])
def test_lone_surrogates_are_the_callers_mistake(packed: Model, text: str) -> None:
    for encode in (packed.tokenizer.encode, packed.tokenizer.encode_with_offsets):
        with pytest.raises(BadRequest, match="surrogates not allowed"):
            encode(text)


@pytest.mark.parametrize("token_id", [-1, 1 << 32, 10**30])
def test_ids_that_fit_no_tokenizer_are_refused(packed: Model, token_id: int) -> None:
    with pytest.raises(BadRequest, match="out of range"):
        packed.tokenizer.decode([token_id])


def test_bos_comes_once_however_often_it_is_spelled(make_folder: MakeFolder, tmp_path: Path) -> None:
    tokenizer = open_bundle(pack(make_folder(), tmp_path / "out")).tokenizer
    bos = tokenizer.encode("<s>")
    assert tokenizer.encode("", add_special_tokens=True) == bos
    assert tokenizer.encode("<s>", add_special_tokens=True) == bos * 2
    assert tokenizer.prefix_ids == bos


def test_eight_threads_get_the_same_ids(packed: Model) -> None:
    text = "The quick brown fox <|im_end|> 你好\n" * 50
    expected = packed.tokenizer.encode(text)
    wrong: list[list[int]] = []

    def work() -> None:
        answers = [packed.tokenizer.encode(text) for _ in range(20)]
        wrong.extend(ids for ids in answers if ids != expected)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_texts_with_unsettled_marks_go_to_tokenizers(make_folder: MakeFolder, tmp_path: Path) -> None:
    model = open_bundle(pack(make_folder(kind="nfc_byte_level"), tmp_path / "out"))
    text = "a\u05c9\u0336\u0323"
    expected = model.tokenizer.reference.encode(text, add_special_tokens=False).ids
    assert model.tokenizer._engine.value(text) != expected
    assert model.tokenizer.encode(text) == expected


def test_texts_with_bytes_that_have_no_token_go_to_tokenizers(make_folder: MakeFolder, tmp_path: Path) -> None:
    tokenizer = open_bundle(pack(make_folder(kind="partial_byte_level"), tmp_path / "out")).tokenizer
    assert tokenizer.engine == "kitoken"
    differing = 0
    for text in (" \x16\x88", "a \x16\x88 b", "\x16", "x\U00040000y", " \U00040000\x88"):
        expected = tokenizer.reference.encode(text, add_special_tokens=False).ids
        differing += tokenizer._engine.value(text) != expected
        assert tokenizer.encode(text) == expected
    assert differing


def test_divergent_pattern() -> None:
    assert divergent_pattern([]) is None
    pattern = divergent_pattern([(0x5C8, 0x5C9), (0x2581, 0x2581), (0x1F600, 0x1F64F)])
    assert pattern is not None
    assert [bool(pattern.search(text)) for text in ("a-]\\", "\u05c9", "x▁", "😀", "\u05ca")] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_fast_engine_serves_long_texts_once_it_is_loaded(
    make_folder: MakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastokens", reason="needs fastokens")
    monkeypatch.setattr("renderlayer.bundle.tokenizer._FAST_DELAY", 0.0)
    model = open_bundle(pack(make_folder(), tmp_path / "out"))
    described = json.loads((tmp_path / "out/bundle.json").read_text())["tokenizer"]
    description = {**described, "divergent_characters": [], "fastokens": {"equal": True}}
    tokenizer = Tokenizer(tmp_path / "out", description, model.vocabulary, fast_after=20)
    long = "The quick brown fox, 你好 <|im_end|>" * 3
    expected = model.tokenizer.encode(long)
    assert tokenizer.encode(long) == expected
    assert tokenizer._fast is not None
    fast = tokenizer._fast.value
    assert tokenizer._encoder(long) is fast
    assert tokenizer._encoder(long + "'\u017f") is not fast
    assert tokenizer._encoder("short") is not fast
    assert tokenizer.encode(long) == expected
    with pytest.raises(BadRequest):
        tokenizer.encode(long + "\ud800")
