"""`python -m infra.local serve MODEL`: the deployed functions behind a local gateway. `… run`: the whole demo."""

from __future__ import annotations

import argparse
import os
import sys

from infra.local.gateway import Gateway, load_handlers
from infra.local.template import read
from renderlayer.errors import ConfigurationError
from renderlayer.http.serve import add_arguments, exit_on_signals, run
from renderlayer.settings import PREFIX, Settings


def main() -> int:
    arguments = _parser().parse_args()
    exit_on_signals()
    try:
        arguments.command(arguments)
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.local", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="serve the deployed functions; a laptop sets no limit on answers")
    add_arguments(serve)
    serve.set_defaults(command=_serve)
    return parser


def _serve(arguments: argparse.Namespace) -> None:
    os.environ.setdefault(PREFIX + "MAX_RESPONSE_BYTES", "0")
    settings = Settings.from_arguments(arguments)
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]
    os.environ.update(settings.environment())
    template = read()
    gateway = Gateway(template, load_handlers(template), settings.max_body_bytes)
    try:
        run(
            gateway, arguments.host, arguments.port, f"serving {settings.model} through {', '.join(template.functions)}"
        )
    finally:
        gateway.close()


if __name__ == "__main__":
    sys.exit(main())
