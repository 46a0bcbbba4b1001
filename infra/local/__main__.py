"""`python -m infra.local serve MODEL`: the deployed functions behind a local gateway; `run`: the whole demo."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from infra.local.batch import add_arguments as add_batch_arguments
from infra.local.invoke import add_arguments as add_invoke_arguments
from renderlayer.errors import ConfigurationError
from renderlayer.flags import CommandParser, add_flags
from renderlayer.http.server.address import port_number
from renderlayer.http.server.serve import add_arguments, exit_on_signals


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 after an orderly stop, 2 for a configuration that cannot work."""
    parser = CommandParser(prog="python -m infra.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the deployed functions; answers have no limit of size by default")
    add_arguments(serve)
    _add_gateway_flags(serve)
    demo = commands.add_parser("run", help="engine and gateway, and one real chat; Ctrl-C stops all")
    add_flags(demo)
    demo.add_argument("--port", type=port_number, default=8080, help="port of the gateway (default: %(default)s)")
    demo.add_argument("--engine-port", type=port_number, default=8081, help="port of the engine (default: %(default)s)")
    _add_gateway_flags(demo)
    demo.add_argument("--ask", help="the chat's one message")
    demo.add_argument("--once", action="store_true", help="stop after the answer")
    batch = commands.add_parser("batch", help="run a file of requests through the batch functions")
    add_batch_arguments(batch)
    event = commands.add_parser("invoke", help="run one function on one event, such as those of tests/events")
    add_invoke_arguments(event)
    given = parser.parse_args(arguments)
    exit_on_signals()
    try:
        if given.command == "serve":
            from infra.local.serve import serve as run
        elif given.command == "invoke":
            from infra.local.invoke import invoke as run
        elif given.command == "batch":
            from infra.local.batch import run
        else:
            from infra.local.run import run
        run(given)
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the exit
    return 0


def _add_gateway_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--buffered", action="store_true", help="collect streamed answers before they are sent, as the HTTP API does"
    )
    parser.add_argument(
        "--batches",
        action="store_true",
        help="serve /v1/files, /v1/uploads and /v1/batches, too, from a bucket in memory",
    )


if __name__ == "__main__":
    sys.exit(main())
