"""From a command line to a running gateway."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local.gateway import Gateway, load_handlers
from infra.local.template import read
from renderlayer.bundle import open_model
from renderlayer.http.application import ServerErrorMiddleware
from renderlayer.http.execution.body_memory import BodyMemory
from renderlayer.http.middleware.auth import Keys
from renderlayer.http.middleware.cors import with_cors
from renderlayer.http.page import PageMiddleware
from renderlayer.http.server.address import Address
from renderlayer.http.server.advice import advise, warn_of_media
from renderlayer.http.server.logs import AccessLog, configure_logs
from renderlayer.http.server.metrics import Metrics
from renderlayer.http.server.serve import run
from renderlayer.memory import reuse_large_blocks
from renderlayer.settings import PREFIX, Settings


def serve(arguments: argparse.Namespace) -> None:
    """Serve the functions of `template.yaml` until SIGINT or SIGTERM.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    os.environ.setdefault(PREFIX + "MAX_RESPONSE_BYTES", "0")
    settings = Settings.from_arguments(arguments)
    configure_logs(settings)
    advise(settings, os.environ)
    configure(settings)
    if not arguments.batches:
        _serve(settings, arguments)
        return
    with _batches():
        _serve(settings, arguments)


def _serve(settings: Settings, arguments: argparse.Namespace) -> None:
    address = Address.of(arguments)
    sockets = address.bound()
    reuse_large_blocks()
    template = read()
    handlers = load_handlers(template)
    gateway = Gateway(template, handlers, settings.max_body_bytes, settings.receive_timeout, arguments.buffered)
    try:
        doing = f"serving {settings.model} through {', '.join(dict.fromkeys(template.routes.values()))}"
        keys = Keys.of(settings)
        model = open_model(settings)
        warn_of_media(model)
        page = PageMiddleware(gateway, model.vocabulary, keys, settings.receive_timeout)
        contained = ServerErrorMiddleware(BodyMemory(page, settings.body_memory_bytes))
        run(
            AccessLog(with_cors(Metrics(contained, keys), settings.allowed_origins)),
            address,
            doing,
            settings,
            sockets=sockets,
        )
    finally:
        gateway.close()


@contextmanager
def _batches() -> Iterator[None]:
    """The batch functions, with a bucket and queues in memory, for as long as the context lasts."""
    from infra.local.batch import sources
    from infra.local.batch_cloud import enter, running_cloud
    from infra.local.batch_pump import Pump

    with running_cloud() as cloud:
        enter(cloud.environment())
        with Pump(cloud.client("sqs"), sources(cloud)):
            yield


def configure(settings: Settings) -> None:
    """Put settings where deployed functions find them: in the environment, and nothing else of ours beside them."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
    os.environ.update(settings.environment())
