"""The flags of the settings, in groups, and command lines that tell their mistakes in a line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NoReturn

from renderlayer.errors import ConfigurationError
from renderlayer.settings import Settings, flag_of, parsed


class CommandParser(argparse.ArgumentParser):
    """A parser of a command line that tells a mistake in a line of its own, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


GROUPS = {
    "model": "model",
    "chat_template": "chat templates",
    "tool_call_parser": "reasoning and tool calls",
    "generation_config": "defaults of generation",
    "limit_mm_per_prompt": "images, audio and video",
    "reference_bucket": "references",
    "engine_url": "engine",
    "batch_bucket": "batches",
    "api_key": "access and limits",
}
"""Titles of the groups of flags in --help, by the first row of each."""


def add_flags(
    parser: argparse.ArgumentParser,
    positional_model: bool = True,
    names: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Add one flag a row to `parser`, in groups; with `positional_model` the model is the first argument.

    Args:
        names: values that --help lists, by row, where they are known elsewhere.
    """
    to: argparse._ActionsContainer = parser
    for row in fields(Settings):
        kind, about = row.metadata["kind"], row.metadata["about"]
        if row.name in GROUPS:
            to = parser.add_argument_group(GROUPS[row.name])
        if isinstance(row.default, int | float | str) and not isinstance(row.default, bool) and row.default:
            about = f"{about} (default: {row.default})"
        if row.name in names:
            about = f"{about}: {', '.join(names[row.name])}"
        if row.name == "model" and positional_model:
            to.add_argument("model", nargs="?", help=about)
            continue
        flag = flag_of(row)
        if kind == "flag":
            to.add_argument(flag, dest=row.name, action="store_const", const=not row.default, help=about)
        elif kind == "urls":
            to.add_argument(flag, dest=row.name, action=_Joined, metavar="URL", help=f"{about}; may be repeated")
        elif kind == "list":
            to.add_argument(flag, dest=row.name, nargs="+", metavar="VALUE", help=about)
        else:
            shown = "|".join(filter(None, row.metadata["choices"])) or kind.upper()
            to.add_argument(flag, dest=row.name, type=_flag_type(row.name, kind), metavar=shown, help=about)


class _Joined(argparse.Action):
    """Joins the values of a repeated flag by commas."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, values if before is None else f"{before},{values}")


def _flag_type(name: str, kind: str) -> Any:
    def convert(text: str) -> Any:
        try:
            return parsed(name, kind, text)
        except ConfigurationError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return convert
