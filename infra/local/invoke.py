"""`python -m infra.local invoke FUNCTION -e EVENT`: one of the deployed functions on one event, without Docker."""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.local.events import Context
from infra.local.template import read
from renderlayer.errors import ConfigurationError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="FUNCTION", help="its logical id in template.yaml, such as RenderFunction")
    parser.add_argument("-e", "--event", required=True, help="file of the event, or - for the standard input")
    parser.add_argument("--model", help="bundle, folder or Hub id (default: RENDERLAYER_MODEL)")


def invoke(arguments: argparse.Namespace) -> None:
    """Print what the function answers; its settings come from the environment.

    Raises:
        ConfigurationError: there is no such function or event, or the function cannot work.
    """
    functions = read().functions
    if arguments.function not in functions:
        raise ConfigurationError(f"template.yaml has no function {arguments.function}: it has {', '.join(functions)}")
    event = _event(arguments.event)
    if arguments.model:
        os.environ["RENDERLAYER_MODEL"] = arguments.model
    function = functions[arguments.function]
    handler = getattr(import_module(function.module), function.attribute)
    json.dump(handler(event, Context(function.name)), sys.stdout, indent=2)
    print()


def _event(name: str) -> Any:
    try:
        return json.loads(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{name} is no event: {error}") from None
