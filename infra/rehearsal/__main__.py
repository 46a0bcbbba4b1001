"""`python -m infra.rehearsal`: the build, deployed by the real `sam deploy` to an emulated AWS and used from outside.

Needs a build in .cache/rehearsal/build, which `make rehearse` makes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from infra.generate.model import smollm2
from infra.local.run import started
from infra.rehearsal import batches, cloud, images, rest, rotation, steps
from infra.rehearsal.caller import Caller
from infra.rehearsal.machine import CACHE, prepared
from infra.rehearsal.stack import BUILT, Stack
from renderlayer.errors import ConfigurationError

KEY, NEW_KEY, ENGINE_KEY = "rehearsal-key", "another-key", "engine-key"


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every step held, 1 at the first that did not, 2 where this machine cannot rehearse."""
    parser = argparse.ArgumentParser(prog="python -m infra.rehearsal", description=__doc__)
    parser.add_argument("--port", type=int, default=4566, help="port of the emulated AWS (default: %(default)s)")
    parser.add_argument("--engine-port", type=int, default=4567, help="port of the engine (default: %(default)s)")
    parser.add_argument("--stack-name", default="renderlayer", help="name of the stack (default: %(default)s)")
    given = parser.parse_args(arguments)
    if not BUILT.exists():
        print("error: nothing is built: make rehearse", file=sys.stderr)
        return 2
    try:
        machine = prepared()
    except ConfigurationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    engine = f"http://127.0.0.1:{given.engine_port}"
    model = str(smollm2.ensure(print))
    with (
        started("engine", "infra.generate", model, smollm2.NAME, given.engine_port, "--api-key", ENGINE_KEY) as ready,
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
    secrets = stack.cloud.client("secretsmanager")
    secret, engine_secret = (
        secrets.create_secret(Name=name, SecretString=key)["ARN"]
        for name, key in (("keys", KEY), ("engine", ENGINE_KEY))
    )
    parameters = {
        "EngineUrl": engine,
        "EngineApiKeySecret": engine_secret,
        "ApiKeysSecret": secret,
        "MaxModelLen": "2048",
    }
    say("sam deploy", lambda: stack.deploy(Release="1", **parameters))
    outputs = stack.outputs()
    api, door = Caller(stack, outputs["ApiUrl"], KEY), Caller(stack, outputs["StreamUrl"], KEY)
    say("health", lambda: steps.health(api))
    say("keys", lambda: steps.keys(api))
    say("render, derender", lambda: steps.render_and_derender(api))
    say("check engine", lambda: steps.check_engine(stack))
    say("complete", lambda: steps.complete(api))
    say("stream", lambda: steps.stream(door))
    say("logs", lambda: steps.logs(stack))
    say("batch", lambda: batches.drop(stack))
    say("file", lambda: batches.small_file(api))
    say("upload in parts", lambda: batches.upload(api))
    say("rotate a key", lambda: rotation.rotate(stack, secret, KEY, NEW_KEY))
    versions = stack.versions()
    with another_model(stack) as changed:
        other = {**parameters, "ServedModelName": images.NAME, "Multimodal": "true"}
        say("another model", lambda: changed.deploy(Release="2", **other))
        api = Caller(stack, outputs["ApiUrl"], NEW_KEY)
        say("versions", lambda: steps.released(versions, stack))
        say("its answer", lambda: steps.model(api, images.NAME))
        say("images", lambda: images.render(api))
    say("a REST API", lambda: stack.deploy(Release="rest", **parameters, **rest.PARAMETERS))
    say("its front", lambda: rest.front(stack, NEW_KEY))
    say("delete", lambda: steps.delete(stack))
    with another_model(stack) as changed:
        say("a private stack", lambda: changed.deploy(Release="3", PrivateVpcEndpointId=rest.ENDPOINT, **other))
        say("its front", lambda: rest.private(changed, NEW_KEY))
    say("sam deploy again", lambda: stack.deploy(Release="4", **{**parameters, "ServedModelName": smollm2.NAME}))
    say("its stream", lambda: steps.stream(Caller(stack, stack.outputs()["ApiUrl"], NEW_KEY)))
    print("the rehearsal held")


@contextmanager
def another_model(stack: Stack) -> Iterator[Stack]:
    """The same stack with a build that holds another model, packed as `make build` does."""
    folder = BUILT.parents[1] / "changed"  # beside the build, since the paths of its template are relative
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(BUILT.parent, folder)
    packed = folder / "ModelLayer/model"
    shutil.rmtree(packed)
    source = images.make_model(CACHE / "pictures")
    command = [sys.executable, "-m", "renderlayer.cli", "pack", str(source), "-o", str(packed)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    try:
        yield replace(stack, template=folder / BUILT.name)
    finally:
        shutil.rmtree(folder)


def say(title: str, step: Callable[[], str | None]) -> None:
    """Do a step and print what it saw."""
    began = time.monotonic()
    told = step() or "done"
    print(f"{title:18} {time.monotonic() - began:6.1f} s  {told}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
