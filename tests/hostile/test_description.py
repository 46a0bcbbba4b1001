"""Requests made from the description of the API, valid and invalid: answers are as described, and no 5xx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from renderlayer.served_model import ServedModel
from tests.derender.engine import encoded
from tests.local.test_serve import COMMANDS, running
from tests.pipeline.scripted import ScriptedEngine
from tests.runtime import ROOT

pytestmark = pytest.mark.long
DESCRIPTION = ROOT / "docs/openapi.json"
PATHS = json.loads(DESCRIPTION.read_text(encoding="utf-8"))["paths"]
OPERATIONS = [(method, path) for path, methods in PATHS.items() for method in methods]
BATCHES = ("/v1/files", "/v1/batches", "/v1/uploads")
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


@pytest.fixture(scope="module")
def schema() -> Any:
    import schemathesis  # takes seconds, which nobody shall wait for who runs other tests

    return schemathesis.openapi.from_path(DESCRIPTION)


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_answers_are_as_described(
    urls: dict[str, str], session: requests.Session, schema: Any, method: str, path: str, mode: str
) -> None:
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    url = urls["gateway" if path.startswith(BATCHES) else "server"]

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(case=schema[path][method].as_strategy(generation_mode=GenerationMode(mode)))
    def asked(case: Any) -> None:
        response = case.call(base_url=url, session=session, timeout=300)
        checks = [status_code_conformance, content_type_conformance]
        if "text/event-stream" not in " ".join(response.headers.get("content-type", [])):  # whose lines have the schema
            checks.append(response_schema_conformance)
        if response.status_code not in FORESEEN:
            checks.append(not_a_server_error)
        case.validate_response(response, checks=checks)

    try:
        asked()
    except Unsatisfiable:
        assert mode == "negative"
        pytest.skip("it takes nothing that could be wrong")
