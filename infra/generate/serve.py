"""From a command line to a running engine."""

from __future__ import annotations

import argparse
import gc
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import isclass, iscoroutinefunction
from typing import Any, cast

from fastapi import FastAPI

from infra.generate.engine import Engine
from infra.generate.model import weights
from infra.generate.model.loading import load, locate
from infra.generate.model.smollm2 import NAME
from infra.generate.options import Options
from infra.generate.routes import add_routes
from renderlayer.errors import ConfigurationError
from renderlayer.http.app import create_app
from renderlayer.http.application import Application, ServerErrorMiddleware
from renderlayer.http.server.address import Address
from renderlayer.http.server.serve import exit_on_signals, run
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings


def serve(arguments: argparse.Namespace) -> None:
    """Load the model and serve it until SIGINT or SIGTERM.

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    exit_on_signals()
    options = Options.from_arguments(arguments)
    middlewares = [imported(path) for path in options.middleware]
    settings = named(Settings.from_arguments(arguments))
    address = Address.of(arguments)
    sockets = address.bound()
    if options.load_format != "dummy":
        weights.require(settings.model)
    print(f"loading {settings.served_model_name[0]}", flush=True)
    server = ServedModel.open(settings)
    engine = Engine(server, load(settings.model, settings.revision, options), options)
    app = build(engine, options)
    for middleware in middlewares:
        app.extend(partial(wrap, middleware=middleware))
    app.prepare()
    gc.freeze()  # the model's objects stay for good: neither collections nor the exit need to look through them
    engine.start()
    try:
        doing = f"generating with {server.names[0]}, {server.max_model_len} tokens"
        run(ServerErrorMiddleware(app), address, doing, settings, stopping=engine.abort, sockets=sockets)
    finally:
        engine.close()


def named(settings: Settings) -> Settings:
    """The settings with the model located; requests use the name that was given."""
    names = settings.served_model_name or [settings.model or NAME]
    return replace(settings, model=locate(settings.model), served_model_name=names)


def build(engine: Engine, options: Options) -> Application:
    """The application: the engine's routes beside the status routes that every server of this wire has."""
    app = create_app(engine.server.settings, parts=(), server=engine.server)
    app.extend(partial(add_routes, engine=engine, options=options))
    return app


def imported(path: str) -> Any:
    """What an import path names.

    Raises:
        ConfigurationError: there is no such thing.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"--middleware {path}: {error}") from error


def wrap(app: FastAPI, middleware: Any) -> None:
    """Put a middleware around the application, as the reference's `--middleware` does: the last one is the outermost.

    Args:
        middleware: an ASGI middleware class, or a coroutine function of Starlette's form (request, call_next).

    Raises:
        ConfigurationError: it is neither.
    """
    if isclass(middleware):
        app.add_middleware(cast(Any, middleware))
    elif iscoroutinefunction(middleware):
        app.middleware("http")(middleware)
    else:
        raise ConfigurationError(f"--middleware: {middleware!r} is neither a class nor a coroutine function")
