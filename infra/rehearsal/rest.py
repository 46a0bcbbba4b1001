"""The REST API as the front: a stream, a plan's quota for each key, and a private one."""

from __future__ import annotations

from dataclasses import replace

from infra.rehearsal.caller import Caller
from infra.rehearsal.images import render
from infra.rehearsal.stack import Stack
from infra.rehearsal.steps import check, health, keys, stream

QUOTA = 6
ENDPOINT = "vpce-0123456789abcdef0"
PARAMETERS = {"Front": "RestApi", "UsagePlanQuota": str(QUOTA)}


def plan_key(stack: Stack, name: str) -> str:
    """A new key of API Gateway in the stack's plan, made as docs/operations.md has it."""
    client, plan = stack.cloud.client("apigateway"), stack.outputs()["UsagePlanId"]
    made = client.create_api_key(name=name, enabled=True)
    client.create_usage_plan_key(usagePlanId=plan, keyId=made["id"], keyType="API_KEY")
    return str(made["value"])


def front(stack: Stack, key: str) -> str:
    """Without a key of the plan 403, with one a stream event by event; beyond its quota 429, for that key alone."""
    url = stack.outputs()["ApiUrl"]
    bare = Caller(stack, url, key)
    check(bare.call("/health").status_code, 200, "/health")
    check(bare.call("/v1/models").status_code, 403, "/v1/models without a key of the plan")
    caller = replace(bare, plan_key=plan_key(stack, "one"))
    told = stream(caller)
    statuses = [caller.call("/v1/models").status_code for _ in range(QUOTA)]
    check(statuses, [200] * (QUOTA - 1) + [429], "calls up to the quota and beyond")
    other = replace(bare, plan_key=plan_key(stack, "two"))
    check(other.call("/v1/models").status_code, 200, "another key of the plan")
    check(replace(other, key="wrong").call("/v1/models").status_code, 401, "a wrong key of our own")
    check("StreamUrl" in stack.outputs(), False, "a function URL beside the REST API")
    return f"{told}; call {QUOTA + 1} of a key: 429, of another: 200"


def private(stack: Stack, key: str) -> str:
    """Through its endpoint it answers as a public one, images included; from elsewhere 403."""
    url = stack.outputs()["ApiUrl"]
    inside, outside = Caller(stack, url, key), Caller(stack, url.replace(f"-{ENDPOINT}", ""), key)
    check(outside.call("/health").status_code, 403, "/health from outside of the network")
    another = Caller(stack, url.replace(ENDPOINT, "vpce-0fedcba9876543210"), key)
    check(another.call("/health").status_code, 403, "/health through another endpoint")
    health(inside)
    keys(inside)
    check("StreamUrl" in stack.outputs(), False, "a function URL beside a private API")
    return f"403 from elsewhere; through the endpoint images: {render(inside)}"
