"""The rehearsal itself: what it needs, what it says where that is missing, and its emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.rehearsal import machine
from infra.rehearsal.cloud import Cloud, running
from infra.rehearsal.emulator.required import required
from infra.rehearsal.stack import BUILT, Stack
from renderlayer.errors import ConfigurationError
from tests.deployment.transformed import PARAMETERS
from tests.ports import free_port


def test_a_name_that_the_emulator_no_longer_has_is_told() -> None:
    assert required("json", "dumps")
    with pytest.raises(SystemExit, match=r"json\.no_such_name is gone.*ministack=="):
        required("json", "no_such_name")


def test_without_the_functions_python_it_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNTIME_PYTHON", "/nowhere/python")
    with pytest.raises(ConfigurationError, match=rf"no Python {machine.runtime_version()}.*RUNTIME_PYTHON"):
        machine.prepared()


def test_public_urls_are_found_at_the_emulator() -> None:
    stack = Stack(Cloud(4566, Path()), machine.Machine(Path(), Path(), ""), "s")
    assert stack.local("https://abc.execute-api.eu-central-1.amazonaws.com/live") == (
        "http://127.0.0.1:4566/live",
        {"Host": "abc.execute-api.localhost:4566"},
    )
    assert stack.local("https://abc-vpce-0123.execute-api.eu-central-1.amazonaws.com/live") == (
        "http://127.0.0.1:4566/live",
        {"Host": "abc.execute-api.localhost:4566", "x-emulated-vpce": "vpce-0123"},
    )
    assert stack.local("https://xyz.lambda-url.eu-central-1.on.aws/") == (
        "http://127.0.0.1:4566",
        {"Host": "xyz.lambda-url.eu-central-1.localhost:4566"},
    )


@pytest.mark.long
def test_the_build_is_deployed_and_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    problem = machine.missing()
    if problem is not None:
        pytest.skip(problem)
    if not BUILT.exists() or not (machine.CACHE / "emulator/packages").exists():
        pytest.skip("nothing is built and prepared: make rehearse does both")
    try:
        prepared = machine.prepared()
    except ConfigurationError as error:
        pytest.skip(str(error))
    from infra.rehearsal import steps
    from infra.rehearsal.caller import Caller

    with running(prepared, free_port(), tmp_path) as aws:
        stack = Stack(aws, prepared, "Short-Rehearsal")  # no name of a bucket could hold these capitals
        stack.deploy(**{**PARAMETERS, "ApiKeys": "one,two"})
        api = Caller(stack, stack.outputs()["ApiUrl"], "two")
        steps.health(api)
        steps.keys(api)
        assert api.json("/v1/models")["data"]
