"""Have the reference's engine answer what we render, and compare with its own answer to the same conversation.

    python -m tests.reference.engine DIR [MODEL…]        # all models of MODELS, or those named

DIR is an installation of the reference (docs/reference.md) with a third script, `engine NAME PORT MODEL FLAGS…`, which
starts `vllm serve models/MODEL --enable-scale-out` with random weights. It runs with our middleware over an S3 of this
process. Each conversation is rendered with tensors and by reference, and sent to `/inference/v1/generate`; prompt,
tokens and logprobs must be those of `/v1/chat/completions`. All caches of the engine are emptied in between, so that
what we send is used. Fails when something differs, when the engine ends, or when it answers alike to other media.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import renderlayer
from tests.multimodal.clips import frame_list
from tests.multimodal.images import data_url, encoded, picture
from tests.ports import free_port
from tests.reference.exchanges import Client
from tests.reference.servers import READY, ours, wait_until_ready

GENERATE, CHAT = "/inference/v1/generate", "/v1/chat/completions"
CACHES = ("/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache")
BUCKET = "engine-references"
_BOTO = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "urllib3", "six")
FLAGS = ("--middleware", "renderlayer.references.ResolveReferences")


class Setup(NamedTuple):
    """A model.

    Attributes:
        text_config: what of its config.json is set otherwise, in a folder of its own.
        videos: are sent; not where times stand between frames, which ends the engine (docs/limits.md).
    """

    model: str
    text_config: Mapping[str, Any] = {}  # never changed
    videos: bool = False


MODELS = (
    Setup("tiny-gemma3"),
    Setup("tiny-qwen2.5-vl", videos=True),
    Setup("tiny-qwen3-vl"),
    Setup(
        "fam-qwen3.5", {"linear_key_head_dim": 128, "linear_value_head_dim": 128}
    ),  # sizes that the engine's kernels take
)


@contextmanager
def folder(where: Path, setup: Setup) -> Iterator[str]:
    """The model's name among those of the reference."""
    if not setup.text_config:
        yield setup.model
        return
    name = f"engine-{setup.model}"
    home = where / "models" / name
    try:
        shutil.copytree(where / "models" / setup.model, home, ignore=shutil.ignore_patterns("*.safetensors"))
        path = home / "config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        config["text_config"] |= setup.text_config
        path.write_text(json.dumps(config), encoding="utf-8")
        yield name
    finally:
        shutil.rmtree(home, ignore_errors=True)


def conversations(setup: Setup) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(what it holds, messages); the first two differ in the image alone."""
    png = data_url(encoded(picture(96, 64, seed=1)))
    jpeg = data_url(encoded(picture(640, 480, seed=2), "JPEG"), "image/jpeg")
    other = data_url(encoded(picture(96, 64, seed=3)))
    yield "one image", _asked(_image(png))
    yield "another image", _asked(_image(other))
    yield "a larger image", _asked(_image(jpeg))
    yield "two images", _asked(_image(png), _image(jpeg))
    yield "one image twice", _asked(_image(png), _image(png))
    yield (
        "two images in two turns",
        [
            *_asked(_image(jpeg)),
            {"role": "assistant", "content": "A picture."},
            *_asked(_image(png)),
        ],
    )
    if setup.videos:
        video = frame_list([(90, 62)] * 4)
        yield "a video", _asked({"type": "video_url", "video_url": {"url": video}})


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _asked(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [*parts, {"type": "text", "text": "What is it?"}]}]


class Run:
    """A running engine, our render server beside it, and what differed."""

    def __init__(self, setup: Setup, model: str, engine: Client, render: Client) -> None:
        self.model = model
        self.setup, self.engine, self.render = setup, engine, render
        self.faults: list[str] = []
        self.compared = 0

    def compare(self) -> None:
        answers = []
        for label, messages in conversations(self.setup):
            body = {
                "model": self.model,
                "messages": messages,
                "max_tokens": 8,
                "temperature": 0,
                "logprobs": True,
                "top_logprobs": 3,
                "ignore_eos": True,
            }
            answers.append(self._one(label, body))
        if len(answers) > 1 and answers[0] == answers[1]:
            self.faults.append("the answers to two images are the same: they say nothing about what was sent")

    def _one(self, label: str, body: dict[str, Any]) -> Any:
        own = self._ask(CHAT, {**body, "return_token_ids": True, "return_tokens_as_token_ids": True})
        if own is None:
            self.faults.append(f"{label}: the engine refuses it")
            return None
        choice = own["choices"][0]
        want = (own["prompt_token_ids"], choice["token_ids"], _told(choice["logprobs"]))
        for payload in ("tensors", "reference"):
            status, rendered = self.render.post(f"{CHAT}/render", {**body, "mm_payload": payload})
            if status != 200:
                self.faults.append(f"{label}, {payload}: render answers {status} {str(rendered)[:200]}")
                continue
            if payload == "reference":
                slots = [slot for slots in rendered["features"]["kwargs_data"].values() for slot in slots]
                if not all(str(slot).startswith(f"s3://{BUCKET}/") for slot in slots):
                    self.faults.append(f"{label}: not by reference")
            answer = self._ask(GENERATE, rendered)
            if answer is None:
                self.faults.append(f"{label}, {payload}: the engine refuses it")
                continue
            choice = answer["choices"][0]
            got = (rendered["token_ids"], choice["token_ids"], _told(choice["logprobs"]))
            self.compared += 1
            for name, one, two in zip(("prompt", "tokens", "logprobs"), want, got, strict=True):
                if one != two:
                    self.faults.append(f"{label}, {payload}: {name} {str(two)[:160]} and not {str(one)[:160]}")
        return want[1:]

    def _ask(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        for cache in CACHES:
            status, _ = self.engine.post(cache, {})
            if status != 200:
                raise RuntimeError(f"{cache}: {status}")
        status, answer = self.engine.post(path, body)
        if status != 200:
            print(f"  {path}: {status} {str(answer)[:300]}", flush=True)
            return None
        found: dict[str, Any] = answer
        return found


def _told(logprobs: dict[str, Any]) -> list[Any]:
    """Token id and logprob of each place; chat names them `token_id:N`."""
    return [
        (each["token_id"] if "token_id" in each else int(each["token"].removeprefix("token_id:")), each["logprob"])
        for each in logprobs["content"]
    ]


@contextmanager
def object_store() -> Iterator[dict[str, str]]:
    """An S3 over loopback with a bucket, as the environment of those who use it."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    names = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    try:
        boto3.client("s3", endpoint_url=url, **keys).create_bucket(Bucket=BUCKET)
        yield {**names, "AWS_ENDPOINT_URL_S3": url, "RENDERLAYER_REFERENCE_BUCKET": BUCKET}
    finally:
        server.stop()


@contextmanager
def running_engine(where: Path, model: str, environment: dict[str, str]) -> Iterator[str]:
    """The reference's engine with our middleware, by the scripts `engine NAME PORT MODEL FLAGS` and `stop NAME`."""
    port = free_port()
    name, url = f"engine-{port}", f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as packages:
        link(Path(packages))
        paths = {"PYTHONPATH": packages, "VLLM_SERVER_DEV_MODE": "1"}
        try:
            command = [where / "engine", name, str(port), model, *FLAGS]
            subprocess.run(command, env={**os.environ, **environment, **paths}, check=False, timeout=READY)
            wait_until_ready(url)  # a script may give up before a busy machine does
            yield url
        finally:
            subprocess.run([where / "stop", name], check=False, timeout=60)


def link(folder: Path) -> None:
    """What the middleware needs, in a folder of its own, so that it brings nothing else of ours along."""
    (folder / "renderlayer").symlink_to(Path(renderlayer.__file__).parent)
    for name in _BOTO:
        found = find_spec(name)
        assert found is not None and found.origin is not None, name
        origin = Path(found.origin)
        home = origin.parent if origin.name == "__init__.py" else origin
        if not (folder / home.name).exists():
            (folder / home.name).symlink_to(home)


def compared(where: Path, setup: Setup, environment: dict[str, str]) -> Run:
    """One model; raises RuntimeError where the engine does not start with it."""
    begun = time.monotonic()
    os.environ.update(environment)  # our server inherits it
    with ExitStack() as stack:
        model = stack.enter_context(folder(where, setup))
        engine = stack.enter_context(running_engine(where, model, environment))
        ready = time.monotonic()
        render = stack.enter_context(ours(where, model, ()))
        run = Run(setup, model, Client(engine), Client(render))
        try:
            run.compare()
            urllib.request.urlopen(f"{engine}/health", timeout=60).close()
        except (OSError, RuntimeError) as error:
            run.faults.append(f"the engine has gone: {error}")
    for fault in run.faults:
        print(f"DIFFERS {setup.model} {fault}", flush=True)
    took = f"started in {ready - begun:.0f} s, compared in {time.monotonic() - ready:.0f} s"
    print(f"{setup.model}: {run.compared} compared, {len(run.faults)} differ; {took}", flush=True)
    return run


def main(where: Path, names: list[str]) -> int:
    chosen = [setup for setup in MODELS if not names or setup.model in names]
    with object_store() as environment:
        runs = [compared(where, setup, environment) for setup in chosen]
    return 1 if any(run.faults or not run.compared for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
