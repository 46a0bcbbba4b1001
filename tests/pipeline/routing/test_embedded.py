"""Two embedded engines behind one front door: the answers are those of one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from renderlayer.pipeline.completion import PendingCompletion
from renderlayer.pipeline.engine import Engine
from renderlayer.pipeline.pending import generated
from renderlayer.pipeline.routing.policy import POLICIES
from renderlayer.pipeline.routing.pool import EnginePool
from renderlayer.served_model import ServedModel
from tests.pipeline.loop import wait
from tests.references.conftest import faulty, faulty_store, place, s3, s3_url, store, vision, vision_folder
from tests.references.embedded import engine, one_thread, url_of

__all__ = ["faulty", "faulty_store", "one_thread", "place", "s3", "s3_url", "store", "vision", "vision_folder"]


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_same_answers(vision: Callable[..., ServedModel], vision_folder: Path, policy: str) -> None:
    server = vision()
    prompts = [f"{word} " * count for word in ("one", "two") for count in (3, 300)]
    body = {"model": None, "prompt": prompts, "max_tokens": 4, "temperature": 0, "ignore_eos": True}
    with ExitStack() as stack:
        clients = [stack.enter_context(engine(vision_folder, server)) for _ in range(2)]

        async def run() -> tuple[Any, Any]:
            pool = EnginePool([url_of(client) for client in clients], _client, POLICIES[policy])
            one = Engine(url_of(clients[0]))
            pending = PendingCompletion(body, server)
            try:
                answers = [pending.whole(await generated(pending, service)) for service in (one, pool)]
            finally:
                await pool.aclose()
                await one.aclose()
            return answers[0]["choices"], answers[1]["choices"]

        alone, together = wait(run())
    assert alone == together
    assert len(alone) == len(prompts)


def _client(place: tuple[str, str]) -> Engine:
    return Engine(place[0])
