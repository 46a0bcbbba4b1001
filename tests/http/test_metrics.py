from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import Response
from starlette.testclient import TestClient

from renderlayer.http.app import create_app
from renderlayer.http.execution.work import COUNTS, count_tokens
from renderlayer.http.server.metrics import Metrics
from renderlayer.multimodal import uuid_cache
from renderlayer.multimodal.items import EncodedMedia
from renderlayer.pipeline import engine_states
from renderlayer.request_context import stage_observers
from renderlayer.served_model import ServedModel

CHAT = "/v1/chat/completions/render"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture(autouse=True)
def unobserved() -> Iterator[None]:
    yield
    stage_observers.clear()
    engine_states.observers.clear()
    engine_states.watchers.clear()
    uuid_cache.observers.clear()


def client(server: ServedModel, **settings: Any) -> TestClient:
    changed = replace(server.settings, **settings)
    app = create_app(changed, server=ServedModel(server.model, changed))
    return TestClient(Metrics(app, app.keys), raise_server_exceptions=False)


def values(http: TestClient, **headers: str) -> dict[str, float]:
    text = http.get("/metrics", headers=headers).text
    return {
        f"{sample.name}{sorted(sample.labels.values())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_tokens_and_stages_are_counted(server: ServedModel) -> None:
    http = client(server)
    prompt = len(http.post(CHAT, json=HELLO).json()["token_ids"])
    http.post(CHAT, json={})
    http.post("/made/up")
    engine_states.begun()
    assert values(http)["renderlayer_engine_calls_running[]"] == 1
    engine_states.observe("busy")
    found = values(http)
    assert found[f"renderlayer_requests_total{sorted(['POST', CHAT, '200'])}"] == 1
    assert found[f"renderlayer_requests_total{sorted(['POST', CHAT, '400'])}"] == 1
    assert found["renderlayer_requests_total['404', 'other', 'other']"] == 1
    assert found["renderlayer_tokens_total['prompt']"] == prompt
    assert found["renderlayer_stage_seconds_count['render']"] == 2
    assert found[f"renderlayer_request_seconds_count{[CHAT]}"] == 2
    assert found["renderlayer_engine_calls_total['busy']"] == 1
    assert found["renderlayer_engine_calls_running[]"] == found["renderlayer_requests_running[]"] == 0


def test_looking_up_media_by_uuid_is_counted(server: ServedModel) -> None:
    http = client(server)
    name, content = uuid4().hex, EncodedMedia(bytes(1000), None)
    assert uuid_cache.find("image", name) is None
    uuid_cache.keep("image", name, content)
    assert uuid_cache.find("image", name) == content
    found = values(http)
    assert found["renderlayer_media_cache_lookups_total['hit']"] == 1
    assert found["renderlayer_media_cache_lookups_total['miss']"] == 1
    assert found["renderlayer_media_cache_bytes[]"] > 1000


def test_what_an_operator_takes_rates_of_is_there_before_it_happens(server: ServedModel) -> None:
    found = values(client(server))
    for outcome in ("answered", "refused", "busy", "failed", "left"):
        assert found[f"renderlayer_engine_calls_total['{outcome}']"] == 0
    assert found["renderlayer_tokens_total['cached']"] == 0
    assert not [name for name in found if "_created" in name]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 7}},
        {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 7}},
        {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 7},
    ],
    ids=["chat", "responses", "messages"],
)
def test_what_the_engine_found_in_its_cache_is_counted(usage: dict[str, Any]) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        count_tokens(scope, {"usage": usage})
        await Response()(scope, receive, send)

    http = TestClient(Metrics(app, None))
    http.post(CHAT)
    found = values(http)
    kinds = {kind: found[f"renderlayer_tokens_total['{kind}']"] for kind in ("prompt", "cached", "completion")}
    assert kinds == {"prompt": 9, "cached": 7, "completion": 2}


@pytest.mark.parametrize(
    "claimed", [-1, -(10**30), 2**63, 10**30, 10**400], ids=["-1", "-10^30", "2^63", "10^30", "10^400"]
)
def test_counts_that_no_prompt_has_are_not_counted(server: ServedModel, claimed: int) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope[COUNTS].update(prompt_tokens=claimed, completion_tokens=2)
        await Response()(scope, receive, send)

    http = TestClient(Metrics(app, None))
    assert http.post(CHAT).status_code == 200
    found = values(http)
    assert found["renderlayer_tokens_total['prompt']"] == 0
    assert found["renderlayer_tokens_total['completion']"] == 2


def test_callers_cannot_make_labels_of_methods(server: ServedModel) -> None:
    http = client(server)
    for method in ("BREW", "M1", "get"):
        http.request(method, "/health")
    http.get("/health")
    text = http.get("/metrics").text
    assert set(re.findall(r'method="(\w+)"', text)) == {"other", "GET"}


def test_metrics_ask_for_the_key_where_there_is_one(server: ServedModel) -> None:
    http = client(server, api_key=["secret"])
    assert http.get("/metrics").status_code == 401
    assert values(http, Authorization="Bearer secret")


def test_the_form_is_prometheus(server: ServedModel) -> None:
    answer = client(server).get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert re.search(r"^# TYPE renderlayer_requests_total counter$", answer.text, re.M)
