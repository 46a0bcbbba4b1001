"""`python -m infra.rehearsal`: the build, deployed by the real `sam deploy` to an emulated AWS and used from outside.

Needs what `make build` left in .aws-sam/build; `make rehearse` does all of it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from infra.generate import smollm2
from infra.local.run import started
from infra.rehearsal import cloud, steps
from infra.rehearsal.caller import Caller
from infra.rehearsal.machine import prepared
from infra.rehearsal.stack import BUILT, Stack
from renderlayer.errors import ConfigurationError

KEY = "rehearsal-key"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every step held, 1 at the first that did not, 2 where this machine cannot rehearse."""
    parser = argparse.ArgumentParser(prog="python -m infra.rehearsal", description=__doc__)
    parser.add_argument("--port", type=int, default=4566, help="port of the emulated AWS (default: %(default)s)")
    parser.add_argument("--engine-port", type=int, default=4567, help="port of the engine (default: %(default)s)")
    parser.add_argument("--stack-name", default="renderlayer", help="name of the stack (default: %(default)s)")
    given = parser.parse_args(arguments)
    if not BUILT.exists():
        print("error: nothing is built; run make build first, or make rehearse", file=sys.stderr)
        return 2
    try:
        machine = prepared()
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    engine = f"http://127.0.0.1:{given.engine_port}"
    model = str(smollm2.ensure(print))
    with (
        started("engine", "infra.generate", model, smollm2.NAME, given.engine_port) as ready,
        cloud.running(machine, given.port) as aws,
    ):
        ready()
        try:
            rehearse(Stack(aws, machine, given.stack_name), engine)
        except ConfigurationError as error:
            print(f"FAILED: {error}\nthe emulator's log: {aws.log}", file=sys.stderr)
            return 1
    return 0


def rehearse(stack: Stack, engine: str) -> None:
    """Every step in turn.

    Raises:
        ConfigurationError: one did not hold.
    """
    parameters = {"ApiKeys": KEY, "EngineUrl": engine}
    say("sam deploy", lambda: stack.deploy(**parameters))
    outputs = stack.outputs()
    api, door = Caller(stack, outputs["ApiUrl"], KEY), Caller(stack, outputs["StreamUrl"], KEY)
    say("health", lambda: steps.health(api))
    say("keys", lambda: steps.keys(api))
    say("render, derender", lambda: steps.render_and_derender(api))
    say("complete", lambda: steps.complete(api))
    say("stream", lambda: steps.stream(door))
    say("logs", lambda: steps.logs(stack))
    say("batch", lambda: steps.batch(stack))
    say("delete", lambda: "deleted; kept: " + ", ".join(stack.delete()))
    say("sam deploy again", lambda: stack.deploy(**parameters))
    say("health", lambda: steps.health(Caller(stack, stack.outputs()["ApiUrl"], KEY)))


def say(title: str, step: Callable[[], str | None]) -> None:
    """Do a step and print what it saw."""
    began = time.monotonic()
    told = step() or "done"
    print(f"{title:18} {time.monotonic() - began:6.1f} s  {told}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
