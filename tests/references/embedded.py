"""The embedded engine over the tiny vision model with random weights, on a socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from renderlayer.pipeline.engine import Engine as Client
from renderlayer.references import ResolveReferences
from renderlayer.served_model import ServedModel
from tests.pipeline.loop import wait
from tests.references.servers import served

PATIENCE = 300
"""Seconds for what waits for the store, so that a busy machine fails no test."""


@contextmanager
def engine(folder: Path, server: ServedModel, **options: Any) -> Iterator[Client]:
    """A client of an engine with the middleware, which reads its settings from the environment."""
    from infra.generate.engine import Engine
    from infra.generate.model.loading import load
    from infra.generate.options import Options
    from infra.generate.serve import build, wrap

    chosen = Options(load_format="dummy", **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RENDERLAYER_REFERENCE_SECONDS", str(PATIENCE))
        patch.setattr("infra.generate.model.connector.LOAD_SECONDS", PATIENCE)
        for name, value in server.settings.environment().items():
            patch.setenv(name, value)
        running = Engine(server, load(str(folder), "", chosen), chosen)
        app = build(running, chosen)
        wrap(app.api, ResolveReferences)
        running.start()
        with served(app) as url:
            client = Client(url)
            yield client
            wait(client.aclose())
        running.close()


def url_of(client: Client) -> str:
    """Where the engine of a client listens."""
    return client.url


def connector(role: str) -> dict[str, Any]:
    return {"ec_transfer_config": {"ec_connector": "ObjectStoreConnector", "ec_role": role}}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums in one order, so that answers can be compared to the last bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
