"""Token ids to text, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.bundle import Vocabulary
from renderlayer.derender.core.detokenize import HELD_PIECES, Detokenizer
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from tests.derender.engine import PROMPT, encoded
from tests.parsers.hostility import seconds

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\ufffd"), max_size=60)


class Window:
    """The algorithm as the wire states it (wire.md 6.3), without any shortcut."""

    def __init__(self, vocabulary: Vocabulary, prompt: Sequence[int]) -> None:
        self.vocabulary = vocabulary
        self.pieces = [vocabulary.piece(token_id) or "" for token_id in prompt[-7:]]
        self.read = len(self.pieces)
        self.prefix = max(self.read - 5, 0)

    def push(self, token_id: int) -> str:
        text = self.vocabulary.text
        before = text(self.pieces[self.prefix : self.read])
        self.pieces.append(self.vocabulary.piece(token_id) or "")
        after = text(self.pieces[self.prefix :])
        emitted = ""
        if len(after) > len(before) and not after.endswith("\ufffd"):
            emitted = after[len(before) :]
            self.prefix, self.read = self.read, len(self.pieces)
        self.pieces = self.pieces[self.prefix :]
        self.read -= self.prefix
        self.prefix = 0
        return emitted


@settings(deadline=None, max_examples=150)
@given(
    token_ids=st.lists(st.integers(0, 720), max_size=HELD_PIECES - 1),
    prompt=st.lists(st.integers(0, 720), max_size=9),
    metaspace=st.booleans(),
)
def test_any_tokens_read_as_the_wire_states(
    server: ServedModel, metaspace_server: ServedModel, token_ids: list[int], prompt: list[int], metaspace: bool
) -> None:
    vocabulary = (metaspace_server if metaspace else server).model.vocabulary
    detokenizer, window = Detokenizer.after_prompt(vocabulary, False, prompt), Window(vocabulary, prompt)

    assert [detokenizer.push(token_id) for token_id in token_ids] == [window.push(token_id) for token_id in token_ids]
    if token_ids:
        assert detokenizer.pieces() == (window.pieces, window.read)


@settings(deadline=None, max_examples=100)
@given(text=TEXTS, cuts=st.lists(st.integers(1, 9), max_size=9))
def test_a_window_that_travels_loses_nothing(server: ServedModel, text: str, cuts: list[int]) -> None:
    vocabulary = server.model.vocabulary
    token_ids = encoded(server, text)
    detokenizer = Detokenizer.after_prompt(vocabulary, False, encoded(server, PROMPT))
    said = ""
    for token_id, pause in zip(token_ids, [*cuts, *([1] * len(token_ids))], strict=False):
        said += detokenizer.push(token_id)
        if pause == 1:
            pieces, read = detokenizer.pieces()
            detokenizer = Detokenizer(vocabulary, False, pieces, 0, read)

    assert said == text


def test_a_character_of_several_tokens_appears_whole(server: ServedModel) -> None:
    detokenizer = Detokenizer.after_prompt(server.model.vocabulary, True, encoded(server, PROMPT))
    smile = [server.model.vocabulary.id_of(character) for character in "ðŁĺĤ"]  # the bytes of 😂, one a token
    assert None not in smile

    assert [detokenizer.push(token_id) for token_id in smile if token_id is not None] == ["", "", "", "😂"]


def test_special_tokens_are_left_out_only_when_asked(server: ServedModel) -> None:
    token_ids = encoded(server, "Hello<|endoftext|> world")

    def said(skip_special: bool) -> str:
        detokenizer = Detokenizer.after_prompt(server.model.vocabulary, skip_special, None)
        return "".join(map(detokenizer.push, token_ids))

    assert said(True) == "Hello world"
    assert said(False) == "Hello<|endoftext|> world"


def test_the_first_word_keeps_its_space_after_a_prompt(metaspace_server: ServedModel) -> None:
    vocabulary = metaspace_server.model.vocabulary
    hello, again = vocabulary.id_of("▁Hello"), vocabulary.id_of("▁again")
    assert hello is not None and again is not None

    assert Detokenizer.after_prompt(vocabulary, True, [hello]).push(again) == " again"
    assert Detokenizer.after_prompt(vocabulary, True, None).push(again) == "again"


@pytest.mark.parametrize("token_id", [-1, 10**6, 10**30])
def test_ids_outside_the_vocabulary_say_nothing(server: ServedModel, token_id: int) -> None:
    detokenizer = Detokenizer.after_prompt(server.model.vocabulary, False, [token_id])
    (exclamation,) = encoded(server, "!")

    assert [detokenizer.push(token_id), detokenizer.push(exclamation), detokenizer.push(token_id)] == ["", "!", ""]


def test_broken_bytes_do_not_pile_up(server: ServedModel) -> None:
    vocabulary = server.model.vocabulary
    broken = vocabulary.id_of("ÿ")  # the byte 0xFF, which no character has
    assert broken is not None
    detokenizer = Detokenizer.after_prompt(vocabulary, False, None)

    said = "".join(detokenizer.push(broken) for _ in range(1000))
    assert set(said) == {"\ufffd"}
    assert len(detokenizer.pieces()[0]) <= 2 * (HELD_PIECES + 1)


@pytest.mark.parametrize(
    ("window", "why"),
    [(["a"] * 1025, "large"), (["a" * 70_000], "large"), (["\ud800"], "surrogate")],
    ids=["pieces", "characters", "surrogate"],
)
def test_windows_that_nobody_made_are_refused(server: ServedModel, window: list[str], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        Detokenizer(server.model.vocabulary, False, window)


@settings(deadline=None, max_examples=60)
@given(
    window=st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=6),
    prefix=st.integers(0, 12),
    read=st.integers(0, 12) | st.just(10**40),
    token_ids=st.lists(st.integers(0, 720), max_size=8),
)
def test_windows_that_contradict_themselves_do_no_harm(
    server: ServedModel, window: list[str], prefix: int, read: int, token_ids: list[int]
) -> None:
    detokenizer = Detokenizer(server.model.vocabulary, True, window, prefix, read)
    said = [detokenizer.push(token_id) for token_id in token_ids]

    assert len(said) == len(token_ids)
    assert len(detokenizer.pieces()[0]) <= len(window) + len(token_ids)


@pytest.mark.parametrize("piece", ["ÿ", "a"], ids=["broken", "letters"])
def test_time_grows_with_the_tokens(server: ServedModel, piece: str) -> None:
    token_id = server.model.vocabulary.id_of(piece)
    assert token_id is not None

    def push(count: int) -> None:
        detokenizer = Detokenizer.after_prompt(server.model.vocabulary, True, None)
        for _ in range(count):
            detokenizer.push(token_id)

    # eight times the work, sixty-four if it were quadratic
    assert seconds(lambda: push(16_000)) < 30 * seconds(lambda: push(2_000))
