"""`python -m infra.generate serve MODEL`: the embedded engine; `fetch`: the default model's folder, made if needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from renderlayer.errors import ConfigurationError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 after an orderly stop, 1 for a configuration that cannot work."""
    from infra.generate import options
    from infra.generate.process import prepare
    from renderlayer.flags import CommandParser

    parser = CommandParser(prog="python -m infra.generate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve a model on /inference/v1/generate")
    options.add_arguments(serve)
    commands.add_parser("fetch", help="print the folder of the default model; download and convert it if needed")
    given = parser.parse_args(arguments)
    try:
        if given.command == "fetch":
            from infra.generate.model import smollm2

            print(smollm2.ensure(lambda line: print(line, file=sys.stderr, flush=True)))
        else:
            prepare()
            from infra.generate.serve import serve as run

            run(given)
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
