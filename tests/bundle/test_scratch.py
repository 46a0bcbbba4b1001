"""What packing leaves behind when it is ended: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from renderlayer.bundle.pack.scratch import scratch
from tests.bundle.conftest import MakeFolder


def packing(folder: Path, out: Path) -> subprocess.Popen[str]:
    """`renderlayer pack` as a process that has begun to write."""
    command = [sys.executable, "-m", "renderlayer.cli", "pack", str(folder), "-o", str(out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if "tokenizer engines" in line:
            return process
    pytest.fail("it did not begin")


def end(process: subprocess.Popen[str], number: int) -> int:
    process.send_signal(number)
    process.communicate()
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_pack_that_is_ended_leaves_no_folder(make_folder: MakeFolder, tmp_path: Path, number: int) -> None:
    out = tmp_path / "bundles" / "small"
    assert end(packing(make_folder(), out), number) == 128 + number
    assert list(out.parent.iterdir()) == []


def test_what_a_killed_pack_left_is_removed_by_the_next(make_folder: MakeFolder, tmp_path: Path) -> None:
    out = tmp_path / "bundles" / "small"
    assert end(packing(make_folder(), out), signal.SIGKILL) == -signal.SIGKILL
    (left,) = out.parent.iterdir()
    os.utime(left, (0, 0))
    with scratch(out):
        assert not left.exists()


def test_what_another_process_is_packing_stays(tmp_path: Path) -> None:
    with scratch(tmp_path / "one") as work:
        os.utime(work, (0, 0))
        with scratch(tmp_path / "two"):
            assert work.is_dir()
    assert list(tmp_path.iterdir()) == []
