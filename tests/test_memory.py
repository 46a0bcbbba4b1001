"""How much memory there is, and who gets it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from renderlayer.errors import BadRequest, Unavailable
from renderlayer.memory import Budget, available, media_budget
from renderlayer.request_context import until_answered


def group(folder: Path, lines: str, **limits: str) -> tuple[Path, Path]:
    """(root of the control groups, /proc/self/cgroup) with limits by path."""
    for path, text in limits.items():
        file = folder / path.replace("__", "/").replace("_DOT_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="ascii")
    own = folder / "own"
    own.write_text(lines, encoding="ascii")
    return folder, own


def test_version_2(tmp_path: Path) -> None:
    groups, own = group(
        tmp_path, "0::/a/b\n", memory_DOT_max="max", a__memory_DOT_max=str(3 << 20), a__b__memory_DOT_max="max"
    )
    assert available({}, groups, own) == 3 << 20


def test_version_1(tmp_path: Path) -> None:
    limits = {"memory__memory_DOT_limit_in_bytes": str(1 << 62), "memory__x__memory_DOT_limit_in_bytes": str(5 << 20)}
    groups, own = group(tmp_path, "5:cpu:/x\n4:blkio,memory:/x\n", **limits)
    assert available({}, groups, own) == 5 << 20


def test_lambda_and_the_machine(tmp_path: Path) -> None:
    assert available({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769"}, tmp_path, tmp_path / "none") == 1769 << 20
    machine = available({}, tmp_path, tmp_path / "none")
    assert 64 << 20 < machine < 1 << 50
    assert available({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "99999999"}, tmp_path, tmp_path / "none") == machine


def test_the_budget_is_one_for_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")
    assert media_budget(None) is media_budget(None)
    assert media_budget(None).capacity == 256 << 20
    assert media_budget(1000).capacity == 1000


def test_what_can_never_fit_is_refused_and_what_does_not_fit_now_waits() -> None:
    budget = Budget(100)
    with pytest.raises(BadRequest, match="about 101 bytes"), budget.holding(101):
        pass
    order: list[str] = []

    def second() -> None:
        with budget.holding(60):
            order.append("second")

    with budget.holding(50):
        with pytest.raises(Unavailable) as caught, budget.holding(60, patience=0.01):
            pass
        assert (caught.value.status, caught.value.retry_after) == (503, 2)
        waiting = threading.Thread(target=second)
        waiting.start()
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]
    assert budget.held == 0


def test_what_is_kept_is_given_back_when_the_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(100)
    with budget.holding(70) as hold:
        hold.keep(50, 10)  # no request
        assert budget.held == hold.size == 20
    with until_answered():
        with until_answered(), budget.holding(60) as hold:
            hold.keep(20, 40)
            assert (budget.held, hold.size) == (80, 40)
            thread = threading.Thread(target=hold.keep, args=(40, 30))
            thread.start()
            thread.join()
        assert budget.held == 70
    assert budget.held == 0


def test_who_keeps_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(100)
    monkeypatch.setattr(Budget.exchange, "__defaults__", (0.01,))
    with until_answered(), budget.holding(60) as hold:
        hold.keep(0, 40)
        with pytest.raises(Unavailable):
            hold.keep(0, 1)
    assert budget.held == 0
