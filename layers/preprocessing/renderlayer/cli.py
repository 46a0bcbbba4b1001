"""The `renderlayer` command. Each subcommand imports what it needs when it runs."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from renderlayer import __version__
from renderlayer.errors import ConfigurationError
from renderlayer.flags import CommandParser

PACKING = logging.getLogger("renderlayer.bundle.pack")


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Args:
        name: what is typed.
        about: one line for --help.
        arguments: adds its arguments to a parser.
        run: does the work; returns the exit status.
    """

    name: str
    about: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _pack_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="model folder, or Hub id")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="bundle to write")
    parser.add_argument("--revision", help="branch, tag or commit of a Hub id")
    parser.add_argument("--strict", action="store_true", help="refuse a model of which not all media are rendered")


def _pack(arguments: argparse.Namespace) -> int:
    from renderlayer import multimodal
    from renderlayer.bundle.pack import pack
    from renderlayer.render.continuing.packed import add_continues
    from renderlayer.roundtrip import add_round_trip

    _tell_progress()
    _end_in_order()

    from renderlayer.bundle import open_bundle

    def check(bundle: Path) -> None:
        for line in multimodal.refusals(open_bundle(bundle)):
            if arguments.strict:
                raise ConfigurationError(line)
            print(f"warning: {line}", file=sys.stderr)
        PACKING.info("trying whether calls and reasoning come back from the parsers")
        add_round_trip(bundle)
        PACKING.info("trying when prompts can be extended")
        add_continues(bundle)

    _show(str(pack(arguments.model, arguments.output, arguments.revision, check)))
    return 0


def _tell_progress() -> None:
    """Print the steps of packing on stderr."""
    if not PACKING.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        PACKING.addHandler(handler)
    PACKING.setLevel(logging.INFO)


def _end_in_order() -> None:
    """Let signals end the command once it has cleaned up, with the status that shells give them."""
    if threading.current_thread() is threading.main_thread():
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(name, lambda number, frame: sys.exit(128 + number))


def _inspect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="DIR", help="bundle to show")


def _inspect(arguments: argparse.Namespace) -> int:
    _show(arguments.bundle)
    return 0


def _show(bundle: str) -> None:
    from renderlayer import multimodal
    from renderlayer.bundle import open_bundle
    from renderlayer.bundle.inspect import summary
    from renderlayer.render.continuing import packed
    from renderlayer.roundtrip import shown

    print(summary(bundle))
    for lines in (shown(bundle), packed.shown(bundle)):
        if lines:
            print("", *lines, sep="\n")
    promises = multimodal.promises(open_bundle(bundle))
    if promises:
        print("\nmedia", *(f"  {modality}  {promise}" for modality, promise in promises.items()), sep="\n")


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    from renderlayer.http.server.serve import add_arguments, add_workers

    parser.usage = f"{parser.prog} [MODEL] [FLAG ...]"  # the groups below list them
    add_arguments(parser)
    add_workers(parser)


def _serve(arguments: argparse.Namespace) -> int:
    from renderlayer.http.server.serve import main as serve

    serve(arguments)
    return 0


def _settings(arguments: argparse.Namespace) -> int:
    from renderlayer.settings import table

    for variable, flag, default, about in table():
        print(f"| `{variable}` | `{flag}` | `{default}` | {about} |")
    return 0


def _batch_arguments(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    status = commands.add_parser("status", help="print counts, rate and time left")
    status.add_argument("address", help="s3://BUCKET (all batches), s3://BUCKET/BATCH_ID, or the address of an input")
    status.add_argument("--json", action="store_true", help="print the batch objects")


def _batch(arguments: argparse.Namespace) -> int:
    from renderlayer.batch.api.report import print_status

    logging.getLogger("renderlayer").setLevel(logging.ERROR)  # what failed is told in a sentence
    return print_status(arguments.address, arguments.json)


COMMANDS = (
    Command("pack", "make a bundle of a model", _pack_arguments, _pack),
    Command("inspect", "show what is in a bundle", _inspect_arguments, _inspect),
    Command("settings", "list every setting: variable, flag, default, meaning", lambda parser: None, _settings),
    Command("batch", "look after batches", _batch_arguments, _batch),
    Command("serve", "serve a bundle, a model folder or a Hub id over HTTP", _serve_arguments, _serve),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; configuration mistakes end with status 2 and one line on stderr."""
    parser = CommandParser(prog="renderlayer", description="The CPU half of LLM serving.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    _add_completion(parser)
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(command.name, help=command.about, description=command.about)
        command.arguments(subparser)
        subparser.set_defaults(run=command.run)
    arguments = parser.parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except ConfigurationError as error:
        print(f"renderlayer: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


def _add_completion(parser: argparse.ArgumentParser) -> None:
    """Add `--print-completion SHELL`, by shtab, where that is installed."""
    try:
        import shtab
    except ImportError:
        return
    shtab.add_argument_to(parser, "--print-completion", help="print the completion script of a shell")


if __name__ == "__main__":
    sys.exit(main())
