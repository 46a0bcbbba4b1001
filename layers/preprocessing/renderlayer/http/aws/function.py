"""A function's start."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

from renderlayer.http.execution.garbage import uncollected

if TYPE_CHECKING:
    from renderlayer.http.aws.lambda_handler import LambdaHandler

ENVIRONMENT = {
    "MIMALLOC_ARENA_EAGER_COMMIT": "0",  # kitoken's allocator takes memory when it needs it: 17 MB less for Qwen3
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # to look for them among all packages takes 5 ms
}
"""What libraries read as they are imported."""


def function(part: str) -> LambdaHandler:
    """The handler of one function, configured by the environment; opens the model.

    Args:
        part: "render", "derender" or "complete".

    Raises:
        ConfigurationError: the settings or the model cannot work.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with uncollected():
        from renderlayer.http.app import create_app
        from renderlayer.http.aws.lambda_handler import LambdaHandler
        from renderlayer.settings import Settings

        settings = Settings.from_environment()
        app = create_app(settings, (part,))
        if "AWS_LAMBDA_RUNTIME_API" in os.environ:
            from renderlayer.http.server.advice import advise

            advise(settings, os.environ)
        else:  # in a server, which has said it
            app.prepare()
        handler = LambdaHandler(app, settings, part)
        gc.freeze()
        return handler
