"""The deployed functions as processes: the gateway before them, and the real runtime client behind the queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from infra.local.batch_cloud import Cloud
from infra.local.batch_pump import EventSource, Pump
from tests.runtime import Function

HANDLERS = {
    "split": "functions.batch_split.app.handler",
    "work": "functions.batch_work.app.handler",
    "join": "functions.batch_join.app.handler",
    "dead": "functions.batch_dead.app.handler",
}


class InvocationFailed(Exception):
    """The function's process ended, or its handler raised."""


def invoked(function: Function) -> Callable[[dict[str, Any], Any], Any]:
    def call(event: dict[str, Any], context: Any) -> Any:
        outcome = function.invoke(event)
        if not outcome.ok:
            raise InvocationFailed(outcome.value)
        return outcome.value

    return call


@contextmanager
def consumers(cloud: Cloud, environment: Mapping[str, str]) -> Iterator[dict[str, Function]]:
    """Every function of batches in a process of its own, called by its queue."""
    with ExitStack() as stack:
        functions = {
            name: stack.enter_context(Function(handler, {**environment, **cloud.environment()}))
            for name, handler in HANDLERS.items()
        }
        sources = [EventSource(name, cloud.queues[name], invoked(function)) for name, function in functions.items()]
        stack.enter_context(Pump(cloud.client("sqs"), sources))
        yield functions
