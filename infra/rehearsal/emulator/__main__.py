"""ministack with what it lacks for this stack. Run by the functions' own Python version, with ministack installed.

`LAMBDA_PYTHON` names the interpreter that runs the functions: one that has boto3 and nothing else, as Lambda's has.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from infra.rehearsal.emulator import rest, routes, streams
from infra.rehearsal.emulator.required import replace, required

HERE = Path(__file__).resolve().parent
RUNTIME, SERVICE = "ministack.core.lambda_runtime", "ministack.services.lambda_svc"


def main() -> None:
    os.environ["LAMBDA_RUNTIME_API_SCRIPT"] = str(HERE / "runtime_api.py")
    replace("ministack.app", "_HEALTH_PATHS", ("/_ministack/health",))  # /health is the functions', on their hosts
    _isolate_functions()
    _take_numbers_as_text()
    _join_actions_of_batches()
    _pass_over_metric_math()
    _take_loopback_for_tls()
    _transform_with_parameters()
    _cut_ranges_of_versions()
    routes.install()
    streams.install()
    rest.install()
    required("ministack.app", "main")()


def _isolate_functions() -> None:
    """Start functions through `lambda-python`."""
    detect = required(RUNTIME, "_detect_runtime_binary")

    def detected(runtime: str) -> tuple[str, str]:
        binary, script = detect(runtime)
        return (str(HERE / "lambda-python") if runtime.startswith("python") else binary), script

    replace(RUNTIME, "_detect_runtime_binary", detected)


def _take_numbers_as_text() -> None:
    """A `MaximumConcurrency` out of a parameter is text, at which the emulator's poller stops."""
    concurrency = required(SERVICE, "_sqs_esm_concurrency")

    def limit(mapping: dict[str, Any], *rest: Any, **named: Any) -> Any:
        scaling = mapping.get("ScalingConfig")
        if scaling and "MaximumConcurrency" in scaling:
            scaling["MaximumConcurrency"] = int(scaling["MaximumConcurrency"])
        return concurrency(mapping, *rest, **named)

    replace(SERVICE, "_sqs_esm_concurrency", limit)


def _join_actions_of_batches() -> None:
    """IAM knows no action for SQS's batches: the single call's permission counts."""
    action = required("ministack.core.iam_actions", "extract_iam_action")

    def single(service: str, *rest: Any) -> Any:
        found = action(service, *rest)
        return found.removesuffix("Batch") if found and service == "sqs" else found

    replace("ministack.core.iam_actions", "extract_iam_action", single)


def _pass_over_metric_math() -> None:
    """The emulator refuses alarms on expressions; checks on the template look at those."""
    table = required("ministack.services.cloudformation.provisioners", "_RESOURCE_HANDLERS")["AWS::CloudWatch::Alarm"]

    def without_math(work: Any, at: int) -> Any:
        def passed_over(*given: Any, **named: Any) -> Any:
            return (given[0], {}) if "Metrics" in given[at] else work(*given, **named)

        return passed_over

    table["create"] = without_math(table["create"], 1)
    table["update"] = without_math(table["update"], 2)


def _take_loopback_for_tls() -> None:
    """Buckets refuse what comes without TLS, and the emulator serves plain HTTP on this machine."""
    resolve = required("ministack.core.iam_evaluator", "_resolve_condition_key")

    def resolved(key: str, context: Any) -> Any:
        return "true" if key.lower() == "aws:securetransport" else resolve(key, context)

    replace("ministack.core.iam_evaluator", "_resolve_condition_key", resolved)


def _transform_with_parameters() -> None:
    """SAM's transform gets the values of a stack's parameters from AWS, and none from the emulator."""
    module = "ministack.services.cloudformation.changesets"
    values: dict[str, str] = {}
    apply, transform = (
        required(module, "_apply_transforms"),
        required("samtranslator.translator.transform", "transform"),
    )

    def applied(template: Any, provided: Any = None, previous: Any = None) -> Any:
        values.clear()
        given = [row for row in provided or () if row.get("Value") is not None]
        values.update({row["Key"]: row["Value"] for row in given})
        return apply(template, provided, previous)

    def transformed(template: Any, parameters: Any, *rest: Any) -> Any:
        return transform(template, {**values, **parameters}, *rest)

    replace(module, "_apply_transforms", applied)
    replace("samtranslator.translator.transform", "transform", transformed)


def _cut_ranges_of_versions() -> None:
    """A GET that names a version gets all of it, whatever its range."""
    module = "ministack.services.s3"
    get, parsed = required(module, "_get_object"), required(module, "_parse_range")

    def cut(bucket: str, key: str, headers: dict[str, str], query: Any = None) -> Any:
        status, told, body = get(bucket, key, headers, query)
        found = parsed(headers.get("range", ""), len(body)) if status == 200 else None
        if found is None:
            return status, told, body
        start, end = found
        told = {name: value for name, value in told.items() if name.lower() != "content-length"}
        return 206, {**told, "Content-Range": f"bytes {start}-{end}/{len(body)}"}, body[start : end + 1]

    replace(module, "_get_object", cut)


if __name__ == "__main__":
    main()
