"""REST APIs given as OpenAPI: operations for any method, and integrations that stream, both unknown to the emulator.

https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
"""

from __future__ import annotations

from typing import Any

from infra.rehearsal.emulator.required import replace, required
from infra.rehearsal.emulator.streams import Invocation, answer

MODULE = "ministack.services.apigateway_v1"
ANY, STREAMING = "x-amazon-apigateway-any-method", "/response-streaming-invocations"

Json = dict[str, Any]


def install() -> None:
    """Let an imported REST API have both."""
    _import_any_method()
    _stream()
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


def _take_numbers_as_text() -> None:
    """A throttle out of a parameter is text, which the emulator does not compare with numbers."""
    take = required(MODULE, "_take_token")

    def taken(slot: Any, limits: Json) -> Any:
        return take(slot, {name: float(value) if isinstance(value, str) else value for name, value in limits.items()})

    replace(MODULE, "_take_token", taken)
