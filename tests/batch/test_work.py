"""A shard's message: done once, given back when the engine is busy, given up when nothing helps."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud
from renderlayer.batch.steps import running
from renderlayer.batch.storage import keys
from renderlayer.errors import BadGateway, BadRequest, Unavailable
from tests.batch.steps import ENGINE, Steps, forever, ids, in_the_past, lines


class Engine:
    """Refuses to answer what a test says, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.errors: dict[int, Exception] = {}

    def __call__(self, body: Any, request_id: str) -> Any:
        self.asked.append(body["n"])
        if body["n"] in self.errors:
            raise self.errors[body["n"]]
        return {"answer": body["n"]}


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def steps(cloud: Cloud, engine: Engine) -> Steps:
    return Steps(cloud, engine, concurrency=1)


def engine_lines(count: int) -> bytes:
    return lines(*({"n": number} for number in range(1, count + 1)), url=ENGINE)


def test_a_shard_is_done_once(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(3))
    assert steps.worker.receive(shard.message(), forever)["outcome"] == "done"
    assert [row["response"]["body"] for row in steps.part(shard)] == [{"answer": number} for number in (1, 2, 3)]
    assert steps.worker.receive(shard.message(), forever)["outcome"] == "known"
    assert steps.worker.abandon(shard.message())["outcome"] == "known"
    assert engine.asked == [1, 2, 3]


def test_two_workers_at_the_same_time_leave_one_part(cloud: Cloud) -> None:
    together = threading.Barrier(2, timeout=300)

    def meet(body: Any, request_id: str) -> Any:
        return {"who": together.wait()}

    steps = Steps(cloud, meet, concurrency=1)
    shard = steps.shard(engine_lines(1))
    outcomes: list[str] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(steps.worker.receive(shard.message(), forever)["outcome"]))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["done", "known"]
    assert len(steps.part(shard)) == 1


def test_a_busy_engine_gets_the_rest_later(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(4))
    engine.errors = {3: Unavailable("busy", retry_after=7)}
    outcome = steps.worker.receive(shard.message(), forever)
    assert (outcome["outcome"], outcome["done"]) == ("returned", 2)
    assert engine.asked == [1, 2, 3]
    assert steps.waiting("work") == 1  # a new message, so that waiting does not count as failing
    engine.errors, engine.asked = {}, []
    assert steps.worker.receive(shard.returned(progressed=True).message(), forever)["outcome"] == "done"
    assert engine.asked == [3, 4]
    assert ids(steps.part(shard)) == ["r-1", "r-2", "r-3", "r-4"]


def test_an_engine_that_stays_busy_is_asked_less_and_less(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(1))
    engine.errors = {1: Unavailable("busy", retry_after=0)}
    message = shard.message()
    for idle in range(1, 4):
        assert steps.worker.receive(message, forever)["outcome"] == "returned"
        (message,) = steps.received("work")
        assert message["shard"]["idle"] == idle


def test_short_time_stops_before_the_next_line(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(4))
    left = iter([500.0, 500.0, 500.0, 500.0, 60.0])
    outcome = steps.worker.receive(shard.message(), lambda: next(left, 60.0))
    assert outcome["outcome"] == "returned"
    assert 0 < outcome["done"] < 4
    (message,) = steps.received("work")
    assert steps.worker.receive(message, forever)["outcome"] == "done"
    assert sorted(engine.asked) == [1, 2, 3, 4]


def test_errors_are_lines_of_the_error_file(steps: Steps, engine: Engine) -> None:
    secret = "what the prompt said"
    engine.errors = {1: BadRequest("bad"), 2: ValueError(secret)}
    shard = steps.shard(engine_lines(3))
    steps.worker.receive(shard.message(), forever)
    rows = steps.part(shard)
    assert ids(rows) == ["r-3", "r-1", "r-2"]  # output first
    assert [row["response"]["status_code"] for row in rows] == [200, 400, 500]
    assert secret not in str(rows)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards on which the engine failed can be received again without a delay."""
    monkeypatch.setattr(running, "RETRY_SECONDS", 0)


@pytest.mark.usefixtures("at_once")
def test_lines_on_which_the_engine_failed_are_tried_again(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(4))
    engine.errors = {2: BadGateway("The engine failed with status 500.")}
    outcome = steps.worker.receive(shard.message(), forever)
    assert (outcome["outcome"], outcome["done"]) == ("returned", 3)  # the others are not held up
    (message,) = steps.received("work")
    engine.errors = {}
    assert steps.worker.receive(message, forever)["outcome"] == "done"
    assert engine.asked == [1, 2, 3, 4, 2]
    assert [row["response"]["status_code"] for row in steps.part(shard)] == [200] * 4


@pytest.mark.usefixtures("at_once")
def test_a_line_on_which_the_engine_always_fails_ends_with_its_error(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(3))
    engine.errors = {2: BadGateway("The engine failed with status 500.")}
    message, outcomes = shard.message(), []
    while not outcomes or outcomes[-1] == "returned":
        outcomes.append(steps.worker.receive(message, forever)["outcome"])
        message = next(iter(steps.received("work")), {})
    assert outcomes == ["returned"] * 5 + ["done"]
    assert engine.asked == [1, 2, 3, 2, 2, 2, 2, 2]
    rows = steps.part(shard)
    assert ids(rows) == ["r-1", "r-3", "r-2"]
    assert [row["response"]["status_code"] for row in rows] == [200, 200, 502]


@pytest.mark.usefixtures("at_once")
def test_waiting_for_an_engine_that_is_away_counts_as_no_failure(steps: Steps, engine: Engine) -> None:
    message = steps.shard(engine_lines(1)).message()
    engine.errors = {1: Unavailable("away", retry_after=0)}
    for _ in range(6):
        assert steps.worker.receive(message, forever)["outcome"] == "returned"
        (message,) = steps.received("work")
    engine.errors = {1: BadGateway("The engine failed with status 500.")}
    assert steps.worker.receive(message, forever)["outcome"] == "returned"


def test_an_engine_that_fails_on_everything_is_left_alone(
    steps: Steps, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "FAILURES_IN_A_ROW", 2)
    shard = steps.shard(engine_lines(4))
    engine.errors = dict.fromkeys((2, 3, 4), BadGateway("The engine failed with status 500."))
    steps.worker.receive(shard.message(), forever)
    assert engine.asked == [1, 2, 3]
    assert steps.waiting("work") == 1


def test_cancelled_and_expired(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(2))
    steps.bucket.create(keys.cancelled(shard.job.batch), b"")
    assert steps.worker.receive(shard.message(), forever)["outcome"] == "cancelled"
    assert [row["error"]["code"] for row in steps.part(shard)] == ["batch_cancelled"] * 2
    late = steps.shard(engine_lines(3), expires_at=in_the_past())
    assert steps.worker.receive(late.message(), forever)["outcome"] == "expired"
    assert [row["error"]["code"] for row in steps.part(late)] == ["batch_expired"] * 3
    assert ids(steps.part(late)) == ["r-1", "r-2", "r-3"]
    assert engine.asked == []


def test_a_batch_that_is_cancelled_while_its_lines_run(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LOOK_EVERY", 0)
    asked: list[int] = []

    def cancelled_in_the_second(body: Any, request_id: str) -> Any:
        asked.append(body["n"])
        if body["n"] == 2:
            steps.bucket.create(keys.cancelled(shard.job.batch), b"")
        return {"answer": body["n"]}

    steps = Steps(cloud, cancelled_in_the_second, concurrency=1)
    shard = steps.shard(engine_lines(4))
    told = steps.worker.receive(shard.message(), forever)
    assert (told["outcome"], told["completed"], told["failed"]) == ("cancelled", 2, 2)
    assert asked == [1, 2]
    rows = steps.part(shard)
    assert ids(rows) == ["r-1", "r-2", "r-3", "r-4"]
    assert [(row["error"] or {}).get("code") for row in rows] == [None, None, "batch_cancelled", "batch_cancelled"]
    assert steps.waiting("work") == 0


def test_a_dead_letter_keeps_what_is_done(steps: Steps, engine: Engine) -> None:
    shard = steps.shard(engine_lines(3))
    engine.errors = {2: Unavailable("busy")}
    steps.worker.receive(shard.message(), forever)
    assert steps.worker.abandon(shard.message())["outcome"] == "abandoned"
    rows = steps.part(shard)
    assert ids(rows) == ["r-1", "r-2", "r-3"]
    assert [(row["error"] or {}).get("code") for row in rows] == [None, "server_error", "server_error"]


@pytest.mark.parametrize("give_up", [False, True])
def test_an_input_that_was_replaced_fails_its_batch(steps: Steps, give_up: bool) -> None:
    shard = steps.shard(engine_lines(3))
    steps.bucket.write(shard.job.source.key, b"{}")
    work = steps.worker.abandon(shard.message()) if give_up else steps.worker.receive(shard.message(), forever)
    assert work["outcome"] == "failed"
    assert steps.batch()["status"] == "failed"
    assert steps.worker.receive(shard.message(), forever)["outcome"] == "failed"


def test_lines_that_are_no_requests_are_not_asked(steps: Steps, engine: Engine) -> None:
    good = engine_lines(1)
    shard = steps.shard(good + b"{\n\n" + good)
    steps.worker.receive(shard.message(), forever)
    rows = steps.part(shard)
    assert [(row["error"] or {}).get("code") for row in rows] == [None, "invalid_json_line", "duplicate_custom_id"]
    assert [row["error"]["line"] for row in rows[1:]] == [2, 4]
    assert engine.asked == [1]


def test_an_endpoint_of_the_batch_refuses_others(steps: Steps) -> None:
    shard = steps.shard(engine_lines(1), endpoint="/echo")
    steps.worker.receive(shard.message(), forever)
    (row,) = steps.part(shard)
    assert row["error"] == {"code": "invalid_url", "message": "url must be one of /echo.", "line": 1}
