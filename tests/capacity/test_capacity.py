"""The capacity tables: against calculation by hand, and as docs/cost.md has them."""

from __future__ import annotations

import re

import pytest

from infra.capacity.costs import MILLION, break_even, fleet_hour
from infra.capacity.simulation import Load, simulate
from infra.capacity.tables import SHORT, TABLES, TASK_RATE, WAITING
from tests.deployment.transformed import ROOT


def test_a_steady_load_keeps_rate_times_time_busy() -> None:
    """Ten a second of half a second each: five are busy, each takes its half second, fifty seconds are paid for."""
    seen = simulate(Load(10, 10, 0.5, 9.0, warm=10, random=False))
    assert (len(seen.waits), seen.cold, seen.refused) == (100, 0, 0)
    assert seen.busiest == 5
    assert {round(wait, 6) for wait in seen.waits} == {0.5}
    assert seen.billed == pytest.approx(50)


def test_a_burst_starts_an_environment_for_each_request() -> None:
    """Fifty within 50 ms, while a start takes 350: all are cold; of 60 environments at most, 50 are refused of 110."""
    seen = simulate(Load(1000, 0.0505, 0.001, 0.35, random=False))
    assert (len(seen.waits), seen.cold, seen.refused) == (50, 50, 0)
    assert {round(wait, 6) for wait in seen.waits} == {0.351}
    crowded = simulate(Load(1000, 0.1105, 0.001, 0.35, most=60, random=False))
    assert (crowded.cold, crowded.refused) == (60, 50)


def test_an_engine_that_is_full_makes_a_queue_that_grows() -> None:
    """Ten a second for five slots of a second: the hundredth, at 10 s, begins at 0.5 + 19 s and waits 10.5 s."""
    seen = simulate(Load(10, 10, 0.0, 0.0, engine=1.0, slots=5, warm=1000, random=False))
    assert seen.waits[0] == pytest.approx(1.0)
    assert seen.waits[-1] == pytest.approx(10.5)
    assert simulate(Load(10, 10, 0.0, 0.0, engine=1.0, slots=10, warm=1000, random=False)).waits[-1] == pytest.approx(1)


def test_costs_are_those_of_a_calculation_by_hand() -> None:
    """1769/1024 GB for 1 ms a million times is 1727.54 GB-s, $0.0288; for 5.123 s a call 8.8502 GB-s, $147.50."""
    assert SHORT.dollars * MILLION == pytest.approx(1.00 + 0.20 + 0.02879, abs=1e-4)
    assert WAITING.dollars * MILLION == pytest.approx(1.00 + 0.20 + 147.503, abs=1e-2)
    assert fleet_hour(2) == pytest.approx(2 * (0.04048 + 2 * 0.004445) + 0.0225 + 0.008)
    assert break_even(SHORT, TASK_RATE) == pytest.approx(0.12924 / (1.22879e-6 * 3600), rel=1e-4)
    assert WAITING.concurrency(1000) == pytest.approx(5123)


def test_functions_that_no_container_undercuts_are_told() -> None:
    with pytest.raises(ValueError, match="any rate"):
        break_even(SHORT, 0.001)


@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_the_tables_that_come_out(name: str) -> None:
    page = (ROOT / "docs/cost.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, re.DOTALL)
    assert found is not None
    assert found[1] == TABLES[name]()
