"""The whole pipeline on this machine: engine and gateway, and one real chat through render → generate → derender."""

from __future__ import annotations

import argparse
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import httpx2

from infra.generate.model import smollm2, weights
from renderlayer.bundle import open_model
from renderlayer.bundle.facts import Facts
from renderlayer.errors import ConfigurationError
from renderlayer.http.server.advice import warn_of_media
from renderlayer.served_model import AUTO
from renderlayer.settings import PREFIX, Settings

READY_SECONDS = 600
WATCH_MILLISECONDS = 500
"""How long a server may take to become ready: a first start packs a model and loads weights."""
STOP_SECONDS = 15
"""How long a server may take to stop before it is killed."""
ANSWER_SECONDS = 300
"""How long one step of the chat may take."""
FALLBACK = "hermes"
QUESTION = "What is the capital of France? Answer in one sentence."


def run(arguments: argparse.Namespace) -> None:
    """Run until SIGINT, SIGTERM or a hang-up; leaves no process behind.

    Raises:
        ConfigurationError: a port is taken, or a server does not start.
    """
    for port in (arguments.port, arguments.engine_port):
        _require_free(port)
    settings = Settings.from_arguments(arguments)
    if settings.model:
        weights.require(settings.model)
        model, name = settings.model, (settings.served_model_name or [Path(settings.model).name])[0]
    else:
        model, name = str(smollm2.ensure(_say)), smollm2.NAME
    _say(f"packing {name}")
    packed = open_model(replace(settings, model=model))
    warn_of_media(packed)
    settings = with_parsers(replace(settings, model=model), packed.facts)
    gateway, engine = f"http://127.0.0.1:{arguments.port}", f"http://127.0.0.1:{arguments.engine_port}"
    passed_on = [f"--{name}" for name in ("buffered", "batches") if getattr(arguments, name)]
    with (
        started("engine", "infra.generate", model, name, arguments.engine_port) as ready_engine,
        started(
            "gateway", "infra.local", model, name, arguments.port, "--engine-url", engine, *passed_on, settings=settings
        ) as ready_gateway,
        httpx2.Client(timeout=ANSWER_SECONDS) as client,
    ):
        gateway_process, engine_process = ready_gateway(), ready_engine()
        chat(client, gateway, engine, name, arguments.ask or QUESTION)
        _say(f"\nOpenAI's API:        {gateway}/v1\nrender and derender: {gateway}")
        _say(f"generate:            {engine}\nmodel:               {name}")
        if not arguments.once:
            _say("Ctrl-C stops everything")
            wait_for_the_end(
                {f"gateway-{arguments.port}": gateway_process, f"engine-{arguments.engine_port}": engine_process}
            )


def with_parsers(settings: Settings, facts: Facts) -> Settings:
    """The settings with the model's own parsers, where they name none, so that tools are answered.

    A model in which packing found no format of calls is read as `hermes` writes them: then calls can be demanded.
    """
    tool = settings.tool_call_parser or (AUTO if facts.tool_parser else FALLBACK)
    reasoning = settings.reasoning_parser or AUTO
    return replace(settings, tool_call_parser=tool, reasoning_parser=reasoning, enable_auto_tool_choice=True)


@contextmanager
def started(
    title: str, module: str, model: str, name: str, port: int, *flags: str, settings: Settings | None = None
) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """A server as a child, stopped at the end; gives a function that waits until it answers, and returns it.

    It has a session of its own, so that a Ctrl-C reaches it through `_stop` alone, and ends with this process however
    that ends. Its output goes to .cache/logs.
    """
    log = Path(".cache/logs") / f"{title}-{port}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "infra.local.bound", str(os.getpid()), module]
    command += ["serve", model, "--served-model-name", name, "--port", str(port), *flags]
    with own_log(log) as output:
        _say(f"starting the {title} (log: {log})")
        child = subprocess.Popen(
            command,
            env=environment(settings),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield lambda: _wait_until_ready(title, child, f"http://127.0.0.1:{port}/health", log)
        finally:
            with suppress(BrokenPipeError):
                _say(f"stopping the {title}")
            _stop(child)


def environment(settings: Settings | None) -> dict[str, str]:
    """This process's environment with these settings and no others of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return {**kept, **(settings.environment() if settings else {})}


def own_log(log: Path) -> BinaryIO:
    """Open a log that no other run writes into; what an earlier one wrote goes.

    Raises:
        ConfigurationError: another run writes into it.
    """
    output = log.open("ab")
    try:
        fcntl.flock(output, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        output.close()
        raise ConfigurationError(
            f"another run writes into {log}; choose other ports with --port and --engine-port"
        ) from error
    output.truncate(0)
    return output


def chat(client: httpx2.Client, gateway: str, engine: str, name: str, question: str) -> str:
    """Ask one question in three steps and print what passes; the answer's text."""
    request = {"model": name, "messages": [{"role": "user", "content": question}], "max_tokens": 64, "temperature": 0}
    rendered = _post(client, f"{gateway}/v1/chat/completions/render", request)
    _say(f"\nrender    {question!r} → {len(rendered['token_ids'])} token ids")
    generated = _post(client, f"{engine}/inference/v1/generate", rendered)
    _say(f"generate  → {len(generated['choices'][0]['token_ids'])} token ids")
    body = {
        "model": name,
        "generate_response": generated,
        "prompt_token_ids": rendered["token_ids"],
        "chat_request": request,
    }
    answer: str = _post(client, f"{gateway}/v1/chat/completions/derender", body)["choices"][0]["message"]["content"]
    _say(f"derender  → {answer!r}")
    return answer


def _post(client: httpx2.Client, url: str, body: Any) -> Any:
    response = client.post(url, json=body)
    if response.is_error:
        raise ConfigurationError(f"{url} answered {response.status_code}: {response.text}")
    return response.json()


def _wait_until_ready(title: str, child: subprocess.Popen[bytes], url: str, log: Path) -> subprocess.Popen[bytes]:
    began = time.monotonic()
    while time.monotonic() - began < READY_SECONDS:
        try:
            child.wait(0.2)
        except subprocess.TimeoutExpired:
            pass
        else:
            raise ConfigurationError(f"the {title} did not start:\n{log.read_text()[-2000:]}")
        try:
            if httpx2.get(url).is_success:
                _say(f"{title} ready after {time.monotonic() - began:.1f} s")
                return child
        except httpx2.TransportError:
            continue
    raise ConfigurationError(f"the {title} was not ready after {READY_SECONDS} s (log: {log})")


def _stop(child: subprocess.Popen[bytes]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C must not leave the child behind
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    assert child.stdin is not None
    child.stdin.close()


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            options = "--port and --engine-port (make run PORT=… ENGINE_PORT=…)"
            raise ConfigurationError(f"port {port} is taken; choose others with {options}") from error


def wait_for_the_end(servers: dict[str, subprocess.Popen[bytes]]) -> None:
    """Wait for a signal, or until nobody can read any more what this process prints.

    Args:
        servers: what must keep running, by the name of its log.

    Raises:
        ConfigurationError: one of them ended.
        BrokenPipeError: nobody reads any more.
    """
    poller = select.poll()
    poller.register(sys.stdout, 0)
    while not poller.poll(WATCH_MILLISECONDS):
        for name, server in servers.items():
            if server.poll() is not None:
                title = name.partition("-")[0]
                raise ConfigurationError(f"the {title} has ended ({server.returncode}); log: .cache/logs/{name}.log")
    raise BrokenPipeError


def _say(line: str) -> None:
    print(line, flush=True)
