"""An ASGI application under uvicorn, for containers, Kubernetes and laptops (`renderlayer serve MODEL`)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING

from renderlayer.errors import ConfigurationError
from renderlayer.flags import add_flags
from renderlayer.http.engine_flags import add_engine_flags
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

KEEP_ALIVE = 120
"""Seconds that an idle connection is kept: longer than the 90 s of the pools of the routers that call."""
GRACE = 10
"""Seconds that requests under way get to finish after a signal to stop."""
SEND_TIMEOUT = Settings().send_timeout
LONG_TEXT = 2048
"""Characters from which fastokens is the faster one; it takes a second and 150 MB to load, which a function has not."""
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


def add_address(parser: argparse.ArgumentParser) -> None:
    """Add `--host` and `--port`."""
    to = parser.add_argument_group("address")
    to.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    to.add_argument("--port", type=port_number, default=8000, help="port; 0 takes a free one (default: %(default)s)")

    to.add_argument("--ssl-certfile", metavar="FILE", help="certificate chain; serves HTTPS")
    to.add_argument("--ssl-keyfile", metavar="FILE", help="its private key (default: in the file of the certificate)")


def tls_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The options of HTTPS that were given.

    Raises:
        ConfigurationError: a key without a certificate.
    """
    given = {name: getattr(arguments, name) for name in ("ssl_certfile", "ssl_keyfile")}
    if given["ssl_keyfile"] and not given["ssl_certfile"]:
        raise ConfigurationError("--ssl-keyfile needs --ssl-certfile")
    return {name: value for name, value in given.items() if value}


def port_number(text: str) -> int:
    """A port of the command line."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{number} is none of 0 to 65535")
    return number


def main(arguments: argparse.Namespace) -> None:
    """Serve every route of the wire from this process until SIGINT or SIGTERM.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    _require_extra()
    from renderlayer.http.advice import advise, warn_of_media
    from renderlayer.http.app import create_app
    from renderlayer.http.bodies import Bodies
    from renderlayer.http.contain import Contain
    from renderlayer.http.cors import with_cors
    from renderlayer.http.logs import AccessLog, configure_logs
    from renderlayer.http.prefix import UnderPrefix
    from renderlayer.render.server import Server

    try:
        from renderlayer.http.metrics import Metrics
    except ImportError as error:
        raise ConfigurationError("Serving needs prometheus-client: pip install 'renderlayer[serve]'") from error
    exit_on_signals()
    settings = Settings.from_arguments(arguments)
    if settings.fast_tokenizer_after is None:
        settings = replace(settings, fast_tokenizer_after=LONG_TEXT)
    configure_logs(settings)
    advise(settings, os.environ)
    server = Server.open(settings)
    app = create_app(settings, server=server).prepare()
    warn_of_media(server.model)
    app.read_with(lambda inner: Bodies(inner, settings.max_body_bytes))
    served: ASGIApp = app
    if arguments.page:
        from renderlayer.http.page import PageMiddleware

        served = PageMiddleware(app, server.model.vocabulary, app.keys)
    run(
        AccessLog(
            with_cors(Metrics(Contain(UnderPrefix(served, settings.root_path)), app.keys), settings.allowed_origins)
        ),
        arguments.host,
        arguments.port,
        f"serving {settings.model}",
        send_timeout=settings.send_timeout,
        tls=tls_of(arguments),
    )


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
    host: str,
    port: int,
    doing: str,
    stopping: Callable[[], None] | None = None,
    send_timeout: float = SEND_TIMEOUT,
    tls: Mapping[str, str] | None = None,
) -> None:
    """Serve `app` and print one line once it answers; returns after a graceful stop.

    Args:
        send_timeout: seconds after which a client that takes nothing of its answer is cut off; 0: never.
        tls: uvicorn's options for HTTPS; none: plain HTTP.
        stopping: called once the server was told to stop, before it waits for the requests under way.

    Raises:
        ConfigurationError: uvicorn is not installed.
    """
    try:
        import uvicorn

        from renderlayer.http.announce import AnnouncingServer, impatient
    except ImportError as error:
        raise ConfigurationError("Serving needs uvicorn: pip install 'renderlayer[serve]'") from error
    config = uvicorn.Config(
        app,
        http=impatient(send_timeout),
        host=host,
        port=port,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
        ssl_keyfile=(tls or {}).get("ssl_keyfile"),
        ssl_certfile=(tls or {}).get("ssl_certfile"),
    )
    try:
        config.load()
    except OSError as error:  # of which ssl.SSLError is one
        raise ConfigurationError(f"--ssl-certfile and --ssl-keyfile: {error.strerror or error}") from error
    AnnouncingServer(config, doing, stopping).run()


def exit_on_signals() -> None:
    """Make SIGINT, SIGTERM and a hang-up end the process with status 0, after whatever shuts it down in order."""

    def leave(number: int, frame: FrameType | None) -> None:
        sys.exit(0)

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under nohup
        signal.signal(signal.SIGHUP, leave)
