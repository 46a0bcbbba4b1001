"""The vocabulary table: pieces, bytes, ids and joining pieces, against `tokenizers`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders

from renderlayer.bundle import Model
from renderlayer.bundle.decoding import byte_level, decoder_of
from renderlayer.bundle.table import ADDED, PRESENT, SKIPPED, SPECIAL, Row, VocabularyTable, write_table
from renderlayer.bundle.vocabulary import Vocabulary
from renderlayer.errors import ConfigurationError

PIECES = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            ["Ġthe", "Ċ", "Ã", "©", "ä½", "ł", "▁", "▁a", "▁▁", "<0x0A>", "<0xE4>", "<0xBD>", "<0xA0>", "<s>", ""]
        ),
    ),
    max_size=8,
).filter(lambda pieces: not any("\ud800" <= character <= "\udfff" for piece in pieces for character in piece))


def test_every_piece_and_id(packed: Model) -> None:
    reference, vocabulary = packed.tokenizer.reference, packed.vocabulary
    assert len(vocabulary) == reference.get_vocab_size()
    for piece, token_id in reference.get_vocab().items():
        assert vocabulary.piece(token_id) == piece
        assert vocabulary.id_of(piece) == token_id
    assert vocabulary.added == {
        token.content: token_id for token_id, token in sorted(reference.get_added_tokens_decoder().items())
    }
    assert vocabulary.special_ids == {
        token_id for token_id in range(len(vocabulary)) if vocabulary.is_special(token_id)
    }


def test_what_is_not_in_the_vocabulary(packed: Model) -> None:
    vocabulary = packed.vocabulary
    for token_id in (-1, len(vocabulary), 1 << 40):
        assert vocabulary.piece(token_id) is None
        assert vocabulary.token_bytes(token_id) == b""
        assert not vocabulary.is_special(token_id)
        assert not vocabulary.is_skipped(token_id)
    for piece in ("no such piece", "", "\ud800"):
        assert vocabulary.id_of(piece) is None


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_pieces_join_as_tokenizers_joins_them(packed: Model, data: st.DataObject) -> None:
    pieces = data.draw(PIECES)
    assert packed.vocabulary.text(pieces) == packed.tokenizer.reference.decoder.decode(pieces)


@given(pieces=PIECES)
@settings(max_examples=300, deadline=None)
def test_byte_level_decoder(pieces: list[str]) -> None:
    assert byte_level(pieces) == decoders.ByteLevel().decode(pieces)


@given(pieces=PIECES, strip=st.sampled_from([0, 1, 2]))
@settings(max_examples=300, deadline=None)
def test_byte_fallback_decoder(pieces: list[str], strip: int) -> None:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    expected = decoders.Sequence([*steps, *([decoders.Strip(" ", strip, 0)] if strip else [])]).decode(pieces)
    description = {"kind": "metaspace", "replacement": "▁", "drop_first": False, "byte_fallback": True, "strip": strip}
    assert decoder_of(description, "".join)(pieces) == expected


@given(pieces=PIECES, scheme=st.sampled_from(["always", "never", "first"]))
@settings(max_examples=300, deadline=None)
def test_metaspace_decoder(pieces: list[str], scheme: str) -> None:
    expected = decoders.Metaspace("▁", scheme).decode(pieces)
    drop = scheme != "never"
    description = {"kind": "metaspace", "replacement": "▁", "drop_first": drop, "byte_fallback": False, "strip": 0}
    assert decoder_of(description, "".join)(pieces) == expected


def test_bytes_of_tokens_make_the_text_of_byte_level_vocabularies(packed: Model) -> None:
    if packed.vocabulary.decoder != "byte_level":
        pytest.skip("only byte-level pieces stand for bytes wherever they are")
    ids = packed.tokenizer.encode("The 你好 👍🏽 <|im_end|>\n")
    data = b"".join(map(packed.vocabulary.token_bytes, ids))
    assert data.decode() == packed.tokenizer.decode(ids, skip_special_tokens=False)


def test_table_with_gaps(tmp_path: Path) -> None:
    rows = [Row(7, "é", b"\xe9", 0), Row(2, "<s>", b"<s>", SPECIAL | ADDED | SKIPPED), Row(0, "", b"", 0)]
    write_table(tmp_path / "t", rows)
    table = VocabularyTable(tmp_path / "t")
    assert (table.rows, table.length) == (8, 3)
    assert [table.flags[token_id] & PRESENT for token_id in range(8)] == [1, 0, 1, 0, 0, 0, 0, 1]
    assert table.piece(7) == "é".encode()
    assert table.data(7) == b"\xe9"
    assert table.find(b"<s>") == 2
    assert table.find(b"") == 0
    assert list(table.with_flag(ADDED)) == [2]
    vocabulary = Vocabulary(table, {"kind": "byte_level"}, "".join)
    assert len(vocabulary) == 3
    assert [vocabulary.piece(token_id) for token_id in (1, 2, 7)] == [None, "<s>", "é"]


def test_empty_table(tmp_path: Path) -> None:
    write_table(tmp_path / "t", [])
    table = VocabularyTable(tmp_path / "t")
    assert (table.rows, table.length, table.find(b"a")) == (0, 0, None)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"something else altogether, long enough for a header " * 4)
    with pytest.raises(ConfigurationError, match="pack the model again"):
        VocabularyTable(tmp_path / "t")
