"""What the emulator does not know of REST APIs given as OpenAPI: operations for any method, integrations that stream,
and the policy of a private one, by which it answers through its VPC endpoint alone.

https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from infra.rehearsal.emulator.required import replace, required
from infra.rehearsal.emulator.streams import Invocation, answer

MODULE = "ministack.services.apigateway_v1"
ANY, STREAMING = "x-amazon-apigateway-any-method", "/response-streaming-invocations"

ENDPOINT = "x-emulated-vpce"
"""The header that stands for the network's way in: id of the VPC endpoint that a request came through."""

Json = dict[str, Any]

_endpoint: ContextVar[str | None] = ContextVar("endpoint", default=None)


def install() -> None:
    """Let an imported REST API have them."""
    _import_any_method()
    _stream()
    _come_through_endpoints()
    _take_numbers_as_text()


def _import_any_method() -> None:
    replace(MODULE, "_OPENAPI_HTTP_METHODS", {*required(MODULE, "_OPENAPI_HTTP_METHODS"), ANY})
    add = required(MODULE, "_import_operation")

    def imported(api_id: str, resource_id: str, method: str, *rest: Any) -> None:
        add(api_id, resource_id, "ANY" if method.lower() == ANY else method, *rest)

    replace(MODULE, "_import_operation", imported)


def _stream() -> None:
    collect, event_of = required(MODULE, "_invoke_lambda_proxy_v1"), required(MODULE, "_build_lambda_event_v1")

    async def invoke(integration: Json, *request: Any, **named: Any) -> Any:
        uri = integration.get("uri") or ""
        if not uri.endswith(STREAMING):
            return await collect(integration, *request, **named)
        arn = uri.split("/functions/", 1)[1].removesuffix(STREAMING)
        account, region = named.pop("owner_account_id"), named.pop("owner_region")
        event = event_of(*request, **named)
        name, _, qualifier = arn.split(":function:", 1)[1].partition(":")
        return await answer(Invocation(account, region, name, qualifier, event))

    replace(MODULE, "_invoke_lambda_proxy_v1", invoke)


def _come_through_endpoints() -> None:
    policy, imported = "x-amazon-apigateway-policy", required(MODULE, "_import_rest_api")
    execute = required(MODULE, "handle_execute")
    resolve = required("ministack.core.iam_evaluator", "_resolve_condition_key")

    def with_policy(spec: Json, base: Json | None = None) -> Any:
        return imported(spec, {**(base or {}), **({"policy": spec[policy]} if policy in spec else {})})

    async def through(
        api_id: str, stage: str, method: str, path: str, headers: dict[str, str], body: bytes, query: Any
    ) -> Any:
        token = _endpoint.set(headers.get(ENDPOINT))
        try:
            return await execute(api_id, stage, method, path, headers, body, query)
        finally:
            _endpoint.reset(token)

    def resolved(key: str, context: Any) -> Any:
        return _endpoint.get() if key.lower() == "aws:sourcevpce" else resolve(key, context)

    replace(MODULE, "_import_rest_api", with_policy)
    replace(MODULE, "handle_execute", through)
    replace("ministack.core.iam_evaluator", "_resolve_condition_key", resolved)


def _take_numbers_as_text() -> None:
    """A throttle out of a parameter is text, which the emulator does not compare with numbers."""
    take = required(MODULE, "_take_token")

    def taken(slot: Any, limits: Json) -> Any:
        return take(slot, {name: float(value) if isinstance(value, str) else value for name, value in limits.items()})

    replace(MODULE, "_take_token", taken)
