"""A thread that loads a native library outlives nothing and crashes nobody."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from renderlayer.bundle import Model
from renderlayer.bundle.background import Background

OPENS_AND_ENDS = "import sys; from renderlayer.bundle import open_bundle; open_bundle(sys.argv[1])"


@pytest.mark.parametrize("attempt", range(5))
def test_a_process_may_end_while_the_tokenizer_loads(model_folder: Path, model: Model, attempt: int) -> None:
    bundle = model_folder.with_name(model_folder.name + ".bundle")
    subprocess.run([sys.executable, "-c", OPENS_AND_ENDS, str(bundle)], check=True, timeout=300)


def test_threads_that_come_and_go_may_tokenize(model: Model) -> None:
    found: list[list[int]] = []
    for _ in range(20):
        thread = threading.Thread(target=lambda: found.append(model.tokenizer.encode("Hello world")))
        thread.start()
        thread.join()
    assert found == [model.tokenizer.encode("Hello world")] * 20


def test_a_failure_is_raised_where_the_value_is_wanted() -> None:
    def fail() -> int:
        raise ValueError("no")

    value = Background(fail)
    with pytest.raises(ValueError, match="no"):
        print(value.value)
    assert not value.ready


def test_a_value_can_be_asked_for_at_once() -> None:
    assert Background(lambda: 7).value == 7
