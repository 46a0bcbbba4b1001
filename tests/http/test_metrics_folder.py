"""What workers write their metrics into goes with the server, also with one that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from renderlayer.http.server.workers import metrics_folder

HOLD = """
import time
from renderlayer.http.server.workers import metrics_folder
with metrics_folder() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


def test_folders_of_killed_servers_are_removed_and_others_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", HOLD]
    servers = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        folders = [Path(server.stdout.readline().strip()) for server in servers if server.stdout]
        (folders[0] / "counter_1.db").write_bytes(b"x")
        servers[0].send_signal(signal.SIGKILL)
        servers[0].wait()
        assert folders[0].is_dir()

        with metrics_folder() as ours:
            assert not folders[0].exists()
            assert folders[1].is_dir()
            assert Path(ours).is_dir()
        assert not Path(ours).exists()
    finally:
        for server in servers:
            server.kill()
            server.communicate()
