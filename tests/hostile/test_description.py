"""Requests made from the description of the API, valid and invalid: answers are as described, and no 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from renderlayer.served_model import ServedModel
from tests.derender.engine import encoded
from tests.local.test_serve import COMMANDS, running
from tests.pipeline.scripted import ScriptedEngine
from tests.runtime import ROOT

pytestmark = pytest.mark.long
SCHEMA = schemathesis.openapi.from_path(ROOT / "docs/openapi.json")
OPERATIONS = {f"{found.ok().method.upper()} {found.ok().path}": found.ok() for found in SCHEMA.get_all_operations()}
BATCHES = [name for name in OPERATIONS if "/v1/files" in name or "/v1/batches" in name]
FORESEEN = {501, 503}
"""Statuses of the fives that say what a server lacks."""


class QuickEngine(ScriptedEngine):
    """Answers with three tokens at most, without a pause."""

    pause = 0.0

    async def _answer(self, asked: dict[str, Any], send: Any) -> None:
        params = {**asked["sampling_params"], "max_tokens": 3, "seed": None}
        await super()._answer({**asked, "sampling_params": params}, send)


@pytest.fixture(scope="module")
def urls(server: ServedModel) -> Iterator[dict[str, str]]:
    """By name of the command: a server with an engine, and a gateway with files and batches."""
    flags = (server.settings.model, "--served-model-name", "small", "--trust-request-chat-template")
    with ExitStack() as stack:
        engine = stack.enter_context(QuickEngine(encoded(server, "one two three")).served())
        door = running(COMMANDS[1], *flags, "--engine-url", engine)
        gateway = running(COMMANDS[0], *flags, "--engine-url", engine, "--batches")
        yield {"server": stack.enter_context(door).url, "gateway": stack.enter_context(gateway).url}


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        opened.trust_env = False
        yield opened


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("name", "at"), [(name, "gateway" if name in BATCHES else "server") for name in OPERATIONS], ids=lambda part: part
)
def test_answers_are_as_described(
    urls: dict[str, str], session: requests.Session, name: str, at: str, mode: GenerationMode
) -> None:
    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode))
    def asked(case: schemathesis.Case) -> None:
        response = case.call(base_url=urls[at], session=session, timeout=300)
        checks = [status_code_conformance, content_type_conformance]
        if "text/event-stream" not in " ".join(response.headers.get("content-type", [])):  # whose lines have the schema
            checks.append(response_schema_conformance)
        if response.status_code not in FORESEEN:
            checks.append(not_a_server_error)
        case.validate_response(response, checks=checks)

    try:
        asked()
    except Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE
        pytest.skip("it takes nothing that could be wrong")
