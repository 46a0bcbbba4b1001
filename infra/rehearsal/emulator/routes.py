"""Routes of an HTTP API that is given as OpenAPI, as SAM gives it: the emulator's CloudFormation drops its `Body`."""

from __future__ import annotations

import json
from typing import Any

from infra.rehearsal.emulator.required import required

MODULE = "ministack.services.apigateway"
ANY, DEFAULT = "x-amazon-apigateway-any-method", "$default"

Json = dict[str, Any]


def install() -> None:
    """Let `AWS::ApiGatewayV2::Api` make routes and integrations of its body."""
    table = required("ministack.services.cloudformation.provisioners", "_RESOURCE_HANDLERS")["AWS::ApiGatewayV2::Api"]
    create, update = table["create"], table["update"]

    def created(logical_id: str, properties: Json, stack_name: str) -> Any:
        made = create(logical_id, properties, stack_name)
        _import(made[0], properties.get("Body") or {})
        return made

    def updated(physical_id: str, old: Json, new: Json, stack_name: str, logical_id: str | None = None) -> Any:
        made = update(physical_id, old, new, stack_name, logical_id)
        _import(made[0], new.get("Body") or {})
        return made

    table["create"], table["update"] = created, updated


def _import(api_id: str, body: Json) -> None:
    required(MODULE, "_routes")[api_id] = {}
    required(MODULE, "_integrations")[api_id] = {}
    for path, methods in body.get("paths", {}).items():
        for method, operation in methods.items():
            _add(api_id, path, method, operation["x-amazon-apigateway-integration"])


def _add(api_id: str, path: str, method: str, told: Json) -> None:
    integration = {
        "integrationType": told["type"].upper(),
        "integrationUri": told["uri"],
        "payloadFormatVersion": told["payloadFormatVersion"],
    }
    answer = required(MODULE, "_create_integration")(api_id, integration)
    target = f"integrations/{json.loads(answer[2])['integrationId']}"
    name = "ANY" if method == ANY else method.upper()
    key = DEFAULT if path.strip("/") == DEFAULT else f"{name} {path}"
    required(MODULE, "_create_route")(api_id, {"routeKey": key, "target": target})
