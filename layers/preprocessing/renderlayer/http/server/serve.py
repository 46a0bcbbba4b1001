"""An ASGI application under uvicorn, for containers, Kubernetes and laptops (`renderlayer serve MODEL`)."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Any

from renderlayer.errors import ConfigurationError
from renderlayer.flags import add_flags
from renderlayer.http.server.address import Address, add_address
from renderlayer.http.server.engine_flags import add_engine_flags
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from renderlayer.http.server.connection import ServerConfig
    from renderlayer.served_model import ServedModel

KEEP_ALIVE = 120
"""Seconds that an idle connection is kept: longer than the 90 s of the pools of the routers that call."""
GRACE = 10
"""Seconds that requests under way get to finish after a signal to stop."""
LONG_TEXT = 2048
"""Characters from which fastokens is the faster one; it takes a second and 150 MB to load, which a function has not."""
ROUTING = "prefix-affinity"
"""How one of several engines is chosen by a server, which knows what it has sent to which."""
LARGEST_HEADERS = 4 << 20
"""Bytes of request line and headers, as the reference takes them (wire.md 1.3)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the flags of the settings, those of vLLM that are ignored, and the address to listen on."""
    from renderlayer.parsers.registry import REASONING_PARSERS, TOOL_PARSERS

    add_flags(parser, names={"tool_call_parser": TOOL_PARSERS, "reasoning_parser": REASONING_PARSERS})
    add_engine_flags(parser)
    add_address(parser)
    page = parser.add_argument_group("page")
    page.add_argument("--page", action="store_true", help="serve a page for people at /: chat, and what it becomes")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add `--workers`."""
    parser.add_argument_group("server").add_argument(
        "--workers",
        type=number_of_workers,
        default=1,
        metavar="N",
        help="processes that answer; each has its own caches, connections to the engine and --max-waiting-answers, and "
        "an equal part of --media-memory-bytes; /metrics tells the sums (default: %(default)s)",
    )


def number_of_workers(text: str) -> int:
    """A number of processes of the command line."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def main(arguments: argparse.Namespace) -> None:
    """Serve every route of the wire until SIGINT or SIGTERM.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    _require_extra()
    from renderlayer.http.server.advice import advise, warn_of_media
    from renderlayer.http.server.logs import configure_logs
    from renderlayer.served_model import ServedModel

    exit_on_signals()
    # A picture is resized by one thread: several take twice the processor time, and requests run beside each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    settings = Settings.from_arguments(arguments)
    if settings.fast_tokenizer_after is None:
        settings = replace(settings, fast_tokenizer_after=LONG_TEXT)
    settings = replace(settings, routing=settings.routing or ROUTING)
    configure_logs(settings)
    address = Address.of(arguments)
    sockets = address.bound()
    advise(settings, os.environ)
    server = ServedModel.open(settings)  # packs the model where nobody has done so before
    warn_of_media(server.model)
    doing = f"serving {settings.model}"
    if arguments.workers > 1:
        from renderlayer.http.server.workers import in_worker, run_workers, shared_out

        make = partial(application, shared_out(settings, arguments.workers), arguments.page)
        app = partial(in_worker, make)
        config = configured(app, address, settings, workers=arguments.workers, factory=True)
        run_workers(config, sockets, f"{doing} from {arguments.workers} processes")
    else:
        run(application(settings, arguments.page, server), address, doing, settings, sockets=sockets)


def application(settings: Settings, page: bool = False, server: ServedModel | None = None) -> ASGIApp:
    """What a server of these settings answers with.

    Args:
        page: whether there is a page for people at `/`.
        server: the opened model; default: it is opened here.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    from renderlayer.http.app import create_app
    from renderlayer.http.application import ServerErrorMiddleware
    from renderlayer.http.execution.body_memory import BodyMemory
    from renderlayer.http.middleware.body_limit import BodyLimitMiddleware
    from renderlayer.http.middleware.cors import with_cors
    from renderlayer.http.request import UnderPrefix
    from renderlayer.http.server.logs import AccessLog, configure_logs
    from renderlayer.http.server.metrics import Metrics
    from renderlayer.memory import reuse_large_blocks
    from renderlayer.served_model import ServedModel

    configure_logs(settings)
    reuse_large_blocks()
    server = server or ServedModel.open(settings)
    app = create_app(settings, server=server).prepare()
    app.read_with(lambda inner: BodyLimitMiddleware(inner, settings.max_body_bytes, patience=settings.receive_timeout))
    served: ASGIApp = app
    if page:
        from renderlayer.http.page import PageMiddleware

        served = PageMiddleware(app, server.model.vocabulary, app.keys, settings.receive_timeout)
    contained = ServerErrorMiddleware(BodyMemory(UnderPrefix(served, settings.root_path), settings.body_memory_bytes))
    measured = Metrics(contained, app.keys)
    return AccessLog(with_cors(measured, settings.allowed_origins))


def _require_extra() -> None:
    """Tell in a sentence what the extra `serve` would have brought.

    Raises:
        ConfigurationError: some of it is not installed.
    """
    for name in ("uvicorn", "prometheus_client"):
        if find_spec(name) is None:
            raise ConfigurationError(f"Serving needs {name}: pip install 'renderlayer[serve]'")


def run(
    app: ASGIApp,
    address: Address,
    doing: str,
    settings: Settings | None = None,
    stopping: Callable[[], None] | None = None,
    sockets: list[socket.socket] | None = None,
) -> None:
    """Serve `app` and print one line once it answers; returns after a graceful stop.

    Args:
        doing: what the line says.
        settings: whose limits of time hold.
        stopping: called once the server was told to stop, before it waits for the requests under way.
        sockets: those that the address has already.

    Raises:
        ConfigurationError: the address cannot be had, or uvicorn is not installed.
    """
    from renderlayer.http.server.ready_log import ReadyLoggingServer

    sockets = sockets or address.bound()
    ReadyLoggingServer(configured(app, address, settings or Settings()), doing, stopping).run(sockets)


def configured(
    app: ASGIApp | Callable[[], ASGIApp], address: Address, settings: Settings, **options: Any
) -> ServerConfig:
    """uvicorn's configuration for an application, or for a function that makes one.

    Raises:
        ConfigurationError: uvicorn is not installed.
    """
    try:
        from renderlayer.http.server.connection import ServerConfig
    except ImportError as error:
        raise ConfigurationError("Serving needs uvicorn: pip install 'renderlayer[serve]'") from error
    return ServerConfig(
        app,
        receive_timeout=settings.receive_timeout,
        send_timeout=settings.send_timeout,
        host=address.host,
        port=address.port,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
        **address.tls,
        **options,
    )


def exit_on_signals() -> None:
    """Make SIGINT, SIGTERM and a hang-up end the process with status 0, after whatever shuts it down in order."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(0)

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
        signal.signal(signal.SIGHUP, leave)
