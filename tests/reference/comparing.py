"""When two answers are the same one: times, random ids and wording aside (wire.md 1.6, 2.2, 6)."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import re
from typing import Any

import msgpack

Json = Any
Answer = tuple[int, Json]

RANDOM_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16,32}(?![0-9a-f])")
VOLATILE = {"created", "root", "permission", "version", "weight_versions", "metrics", "system_fingerprint"}
# What the engine reads where sampling_params lacks a key.
DEFAULTS: dict[str, Json] = {
    "n": 1,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "seed": None,
    "stop": [],
    "stop_token_ids": [],
    "ignore_eos": False,
    "max_tokens": 16,
    "min_tokens": 0,
    "logprobs": None,
    "prompt_logprobs": None,
    "detokenize": True,
    "skip_special_tokens": True,
    "spaces_between_special_tokens": True,
    "include_stop_str_in_output": False,
    "output_kind": 0,
    "output_text_buffer_length": 0,
    "structured_outputs": None,
    "logit_bias": None,
    "allowed_token_ids": None,
    "extra_args": None,
    "bad_words": [],
    "skip_reading_prefix_cache": None,
    "thinking_token_budget": None,
    "stream_interval": None,
    "watermarking": None,
    "repetition_detection": None,
    "logprob_token_ids": None,
    "flat_logprobs": False,
    "routed_experts_prompt_start": 0,
}


def difference(want: Answer, got: Answer) -> str | None:
    """The first difference between the reference's answer and ours, or None."""
    (status, body), (our_status, ours) = want, got
    if status != our_status:
        return f"status: want {status} {short(body)}, got {our_status} {short(ours)}"
    return _error(body, ours) if status >= 400 else _value(body, ours, "")


def with_one_bos(want: Answer, got: Answer) -> Answer:
    """The reference's answer to a Responses request without its second BOS, where ours has one (wire.md 9.15)."""
    (status, body), (our_status, ours) = want, got
    if not status == our_status == 200 or body["token_ids"][:1] != body["token_ids"][1:2]:
        return want
    if ours["token_ids"][:1] == ours["token_ids"][1:2]:
        return want
    once = {**body, "token_ids": body["token_ids"][1:]}
    ours_most, most = (answer["sampling_params"].get("max_tokens") for answer in (ours, body))
    if most is not None and ours_most == most + 1:
        once["sampling_params"] = {**body["sampling_params"], "max_tokens": ours_most}
    if once["features"]:
        shifted = {
            modality: [{**place, "offset": place["offset"] - 1} for place in places]
            for modality, places in once["features"]["mm_placeholders"].items()
        }
        once["features"] = {**once["features"], "mm_placeholders": shifted}
    return status, once


def short(value: Json, most: int = 140) -> str:
    """A value on one line: of an error, what matters."""
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        value = [value["error"].get(key) for key in ("type", "param", "message")]
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


def _error(want: Json, got: Json) -> str | None:
    wanted = want.get("error") if isinstance(want, dict) else None
    if not isinstance(wanted, dict):
        return _value(want, got, "")
    ours = got.get("error") if isinstance(got, dict) else None
    if not isinstance(ours, dict):
        return f".error: want an error object, got {short(got)}"
    for key in ("type", "code"):
        if wanted.get(key) != ours.get(key):
            return f".error.{key}: want {short(want)}, got {short(got)}"
    if field_of(ours.get("param")) not in _blamed(wanted):
        return f".error.param: want {short(want)}, got {short(got)}"
    return None if ours.get("message") else ".error.message: empty"


def _blamed(error: Json) -> set[Json]:
    """The fields that an error names: a validation error names some, of which either may be told first."""
    places = re.findall(r"'loc': '(body[^']*)'", str(error.get("message")))
    return {field_of(error.get("param")), *map(field_of, places)}


def field_of(param: Json) -> Json:
    """The field that an error names: of a validation error's place, the body's field."""
    if not isinstance(param, str) or not param.startswith("body."):
        return param
    places = [place for place in param.split(".")[1:] if not place[:1].isupper()]
    first = places[0] if places else ""
    return "body." + ("#" if first.isdigit() else first)


def _value(want: Json, got: Json, path: str) -> str | None:
    key = path.rpartition(".")[2]
    if key in VOLATILE:
        return None
    if key == "sampling_params" and isinstance(want, dict) and isinstance(got, dict):
        want, got = _sampling(want), _sampling(got)
    if isinstance(want, str) and isinstance(got, str):
        return _text(want, got, path, key)
    if isinstance(want, dict) and isinstance(got, dict):
        return _object(want, got, path)
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return f"{path}: want {len(want)} entries {short(want)}, got {len(got)} {short(got)}"
        found = (_value(a, b, f"{path}.{at}") for at, (a, b) in enumerate(zip(want, got, strict=True)))
        return next(filter(None, found), None)
    if _number(want) and _number(got):
        same = math.isclose(want, got, rel_tol=1e-6, abs_tol=1e-9)
    else:
        same = type(want) is type(got) and want == got
    return None if same else f"{path}: want {short(want)}, got {short(got)}"


def _number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _object(want: dict[str, Json], got: dict[str, Json], path: str) -> str | None:
    for key in want:
        if key not in got and key not in VOLATILE:
            return f"{path}.{key}: missing (want {short(want[key])})"
    for key, value in got.items():
        beside = key == "is_embed" and ".mm_placeholders." in path
        if key not in want and value is not None and not beside:
            return f"{path}.{key}: not in the reference (got {short(value)})"
    found = (_value(want[key], got[key], f"{path}.{key}") for key in want if key in got)
    return next(filter(None, found), None)


def _text(want: str, got: str, path: str, key: str) -> str | None:
    if ".kwargs_data." in path or ".mm_metadata." in path:
        return _item(want, got, path)
    if re.search(r"\.tool_calls\.\d+\.id$", path):
        return None if bool(want) == bool(got) else f"{path}: want {want!r}, got {got!r}"
    if key == "arguments" and want != got:
        try:
            return _value(json.loads(want), json.loads(got), path + "(json)")
        except ValueError:
            pass
    if RANDOM_ID.sub("<id>", want) == RANDOM_ID.sub("<id>", got):
        return None
    return f"{path}: want {short(want)}, got {short(got)}"


def _item(want: str, got: str, path: str) -> str | None:
    """Two serialized items: field by field kind, axis, place, and the tensor's bytes (wire.md 4.6)."""
    wanted, ours = (msgpack.unpackb(base64.b64decode(text)) for text in (want, got))
    if wanted.keys() != ours.keys():
        return f"{path}: fields {sorted(wanted)} != {sorted(ours)}"
    for name, field in wanted.items():
        forms = [
            (entry["field"][0], *map(entry["field"][1].get, ("dim", "keep_on_cpu"))) for entry in (field, ours[name])
        ]
        if forms[0] != forms[1]:
            return f"{path}.{name}: {forms[0]} != {forms[1]}"
        if field["data"] != ours[name]["data"]:
            return f"{path}.{name}: tensors differ"
    return None


def _sampling(params: dict[str, Json]) -> dict[str, Json]:
    """With what absent keys mean; `skip_clone` concerns one process only."""
    full = {**DEFAULTS, **{key: value for key, value in params.items() if key != "skip_clone"}}
    for key in ("stop", "stop_token_ids", "bad_words"):
        full[key] = full[key] or []
    constraint = full["structured_outputs"]
    if isinstance(constraint, dict):
        kept = {key: value for key, value in constraint.items() if value not in (None, False) and key[0] != "_"}
        if isinstance(kept.get("structural_tag"), str):
            with contextlib.suppress(ValueError):
                kept["structural_tag"] = json.loads(kept["structural_tag"])
        full["structured_outputs"] = kept
    return full


def gathered(chunks: list[Json]) -> Json:
    """What the chunks of a derendered stream amount to, wherever it was cut."""
    out: dict[str, Json] = {"ids": sorted({str(chunk.get("id")) for chunk in chunks}), "usage": None}
    for name in ("content", "reasoning", "text"):
        out[name] = ""
    out |= {"role": None, "finish_reason": None, "stop_reason": None, "token_ids": [], "logprobs": []}
    calls: dict[int, dict[str, Json]] = {}
    for chunk in chunks:
        if chunk.get("usage"):
            out["usage"] = {key: value for key, value in chunk["usage"].items() if value is not None}
        for choice in chunk.get("choices", []):
            _gather(out, calls, choice)
    return {**out, "tool_calls": [calls[index] for index in sorted(calls)]}


def _gather(out: dict[str, Json], calls: dict[int, dict[str, Json]], choice: Json) -> None:
    delta = choice.get("delta") or {}
    out["role"] = out["role"] or delta.get("role")
    for name in ("content", "reasoning"):
        out[name] += delta.get(name) or ""
    out["text"] += choice.get("text") or ""
    for name in ("finish_reason", "stop_reason"):
        if choice.get(name) is not None:
            out[name] = choice[name]
    out["token_ids"] += choice.get("token_ids") or []
    logprobs = choice.get("logprobs")
    if logprobs:
        out["logprobs"] += logprobs["content"] if logprobs.get("content") else [logprobs]
    for part in delta.get("tool_calls") or ():
        call = calls.setdefault(part["index"], {"name": "", "arguments": "", "id": False})
        function = part.get("function") or {}
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""
        call["id"] = call["id"] or bool(part.get("id"))
