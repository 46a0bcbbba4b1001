"""A few random exchanges with an installed reference; skipped where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.reference.__main__ import MODELS, Run, listed
from tests.reference.dialects import Maker
from tests.reference.exchanges import Client, Exchange
from tests.reference.reducing import reduced
from tests.reference.servers import ours, reference

COUNT = 100


def test_a_seed_gives_the_same_requests() -> None:
    first, second = (Maker(7, "m") for _ in range(2))
    assert [first.chat() for _ in range(50)] == [second.chat() for _ in range(50)]
    assert [first.responses() for _ in range(50)] == [second.responses() for _ in range(50)]


def test_what_differs_is_made_small() -> None:
    body = {"messages": [{"role": "user", "content": "long text"}, {"role": "x", "name": 5}], "n": 3}
    smallest = reduced(Exchange("/x", body), lambda candidate: "5" in candidate.shown())
    assert smallest.body == {"messages": [{"name": 5}]}


def test_every_listed_difference_has_a_reason() -> None:
    assert len(listed()) > 10


def test_nothing_differs_that_is_not_listed() -> None:
    folder = os.environ.get("REFERENCE")
    if not folder:
        pytest.skip("needs an installed reference: REFERENCE=DIR (docs/reference.md)")
    run, setup = Run(COUNT, 1, None), MODELS[0]
    started = (Path(folder).resolve(), setup.model, setup.flags)
    with reference(*started) as theirs, ours(*started) as mine:
        run.compare(setup, Client(theirs), Client(mine))
    assert run.totals["unlisted"] == 0
