"""`python -m infra.local batch` and `renderlayer batch status`, as a person starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud
from renderlayer.batch.api.report import bar, clock, summary
from renderlayer.batch.storage.status import new
from tests.batch.files import mixed
from tests.batch.steps import Steps, lines
from tests.runtime import ROOT


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{ROOT / 'layers/preprocessing'}{os.pathsep}{ROOT}"
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_ten_thousand_lines(server: Any, tmp_path: Path) -> None:
    text, good, bad = mixed(10_000, server)
    (tmp_path / "in.jsonl").write_bytes(text)
    done = run(
        "infra.local", "batch", str(tmp_path / "in.jsonl"), server.settings.model, "--served-model-name", "small"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    counts = {name: told[name] for name in ("status", "total", "completed", "failed")}
    assert counts == {"status": "completed", "total": 10_000, "completed": len(good), "failed": len(bad)}
    assert f"completed: 10000/10000 lines, {len(bad)} failed" in done.stderr
    results = [(Path(told["folder"]) / f"{name}.jsonl").read_text("utf-8") for name in ("output", "errors")]
    output, errors = ([json.loads(row) for row in text.split("\n") if row] for text in results)
    assert [row["custom_id"] for row in output] == good
    assert [row["custom_id"] for row in errors] == bad
    assert {row["response"]["status_code"] for row in output} == {200}
    log = (Path(told["folder"]) / "log.jsonl").read_text()
    assert "Line 7" not in log


def test_a_file_that_is_not_there() -> None:
    done = run("infra.local", "batch", "/nowhere.jsonl", "model")
    assert (done.returncode, done.stderr) == (2, "error: /nowhere.jsonl is not a file\n")


@pytest.mark.long
def test_status_on_the_command_line(cloud: Cloud) -> None:
    steps = Steps(cloud)
    steps.bucket.write("batches/in/f.jsonl", lines({"n": 1}, {"n": 2}))
    steps.finish()
    batch = steps.batch()["id"]

    def status(address: str, *flags: str) -> subprocess.CompletedProcess[str]:
        return run("renderlayer.cli", "batch", "status", address, *flags, **cloud.environment())

    for address in (cloud.bucket, f"{cloud.bucket}/{batch}", f"{cloud.bucket}/batches/in/f.jsonl"):
        assert status(f"s3://{address}").stdout.startswith(f"{batch}  completed: 2/2 lines, 0 failed, "), address
    assert json.loads(status(f"s3://{cloud.bucket}", "--json").stdout) == steps.batch()
    for address in ("bucket", f"s3://{cloud.bucket}/batch_1"):
        assert status(address).returncode == 2


def test_rate_and_time_left() -> None:
    batch = {**new("b", "f", 0, 9, ""), "status": "in_progress", "in_progress_at": 100}
    assert summary(batch, 100) == "in_progress: 0/0 lines, 0 failed, 0.0 lines/s"
    batch["request_counts"] = {"total": 1000, "completed": 240, "failed": 10}
    assert summary(batch, 150) == "in_progress: 250/1000 lines, 10 failed, 5.0 lines/s, 0:02:30 left"
    assert bar(batch, 150).startswith("[#######.......................] in_progress")
    assert clock(3725.9) == "1:02:05"
