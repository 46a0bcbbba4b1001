"""What a rehearsal does with a deployed stack, from outside: each step says what it saw, or raises."""

from __future__ import annotations

import json
from typing import Any

from infra.rehearsal.caller import Caller
from infra.rehearsal.stack import Stack
from renderlayer.errors import ConfigurationError

QUESTION = {"messages": [{"role": "user", "content": "What is the capital of France? Answer in one sentence."}]}
GREEDY = {**QUESTION, "temperature": 0, "max_tokens": 16}


def check(said: Any, wanted: Any, what: str) -> None:
    """Both must be equal.

    Raises:
        ConfigurationError: they are not.
    """
    if said != wanted:
        raise ConfigurationError(f"{what}: {said!r}, not {wanted!r}")


def health(api: Caller) -> str:
    check(api.call("/health").status_code, 200, "/health")
    return "/health answers 200"


def keys(api: Caller) -> str:
    """Every route but those of health asks for a key."""
    bare = Caller(api.stack, api.url)
    for path in ("/v1/models", "/tokenize", "/detokenize", "/docs", "/openapi.json", "/version", "/v1/files"):
        check(bare.call(path).status_code, 401, f"{path} without a key")
    check(bare.call("/ping").status_code, 200, "/ping without a key")
    named = bare.call("/v1/models", headers={"x-api-key": api.key})
    check(named.status_code, 200, "/v1/models with the key as x-api-key")
    return "without a key: 401 everywhere but /health and /ping; x-api-key counts"


def render_and_derender(api: Caller) -> str:
    rendered = api.json("/v1/chat/completions/render", QUESTION)
    prompt = rendered["token_ids"]
    answer = [504, 3575, 282, 4649, 314, 7042, 30, 2]
    choice = {"index": 0, "token_ids": answer, "finish_reason": "stop", "logprobs": None}
    body = {
        "generate_response": {"request_id": "rehearsal", "choices": [choice]},
        "prompt_token_ids": prompt,
        "chat_request": QUESTION,
    }
    text = api.json("/v1/chat/completions/derender", body)["choices"][0]["message"]["content"]
    check(text, "The capital of France is Paris.", "derender")
    return f"render: {len(prompt)} token ids; derender: {text!r}"


def complete(api: Caller) -> str:
    text = api.json("/v1/chat/completions", GREEDY)["choices"][0]["message"]["content"]
    return f"/v1/chat/completions: {text!r}"


def stream(door: Caller) -> str:
    """The first event must be there before the last token exists."""
    events = list(door.events("/v1/chat/completions", {**GREEDY, "max_tokens": 48, "ignore_eos": True, "stream": True}))
    check(events[-1][1], "[DONE]", "the last event")
    first, last = events[0][0], events[-1][0]
    text = "".join(json.loads(data)["choices"][0]["delta"].get("content") or "" for _, data in events[:-1])
    if first > last * 0.8:
        raise ConfigurationError(f"the stream came at once: first event after {first:.2f} s, last after {last:.2f} s")
    return f"{len(events)} events; the first after {first:.2f} s, the last after {last:.2f} s: {text[:40]!r}"


def logs(stack: Stack) -> str:
    """The streaming function's lines and metrics are in its log group, too."""
    lines = [line for line in stack.log("stream").splitlines() if '"message":"request"' in line]
    if not lines:
        raise ConfigurationError("the streaming function left no log line")
    metrics = json.loads(lines[-1])["_aws"]["CloudWatchMetrics"][0]["Metrics"]
    return f"the streaming function logged {len(lines)} requests with {len(metrics)} metrics each"


def check_engine(stack: Stack) -> str:
    """The way to the engine, from inside."""
    client, name = stack.cloud.client("lambda"), stack.functions()["CompleteFunction"]
    answer = client.invoke(FunctionName=f"{name}:live", Payload=b'{"check": "engine"}')
    told = json.loads(answer["Payload"].read())
    check(told.get("ok"), True, f"the way to the engine ({told})")
    return f"{told['detail']} ({told['seconds']} s)"


def released(before: dict[str, str], stack: Stack) -> str:
    """Every function's alias must have moved."""
    after = stack.versions()
    for name, version in before.items():
        if after[name] == version:
            raise ConfigurationError(f"{name} still answers with version {version}")
    return f"{len(after)} functions answer with new versions"


def delete(stack: Stack) -> str:
    """Both buckets are kept, with what is in them, and the outputs have named them."""
    outputs, s3 = stack.outputs(), stack.cloud.client("s3")
    kept = [name for name in stack.delete() if "Version" not in name]  # versions go with their functions
    check(kept, ["BatchBucket", "References"], "kept")
    held = {
        name: s3.list_objects_v2(Bucket=outputs[name])["KeyCount"] for name in ("BatchBucketName", "ReferencesBucket")
    }
    check(all(held.values()), True, f"objects in the buckets ({held})")
    check(stack.functions_left(), [], "functions that are left")
    return "kept: " + ", ".join(f"{outputs[name]} ({count} objects)" for name, count in held.items())


def model(api: Caller, name: str) -> str:
    """The stack must serve this model."""
    served = api.json("/v1/models")["data"][0]["id"]
    check(served, name, "/v1/models")
    return f"/v1/models: {served}"
