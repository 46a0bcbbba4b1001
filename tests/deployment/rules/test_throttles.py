"""What callers may ask for is bounded: at the stages of both APIs, and by concurrency where somebody reserves it.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html
https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html
"""

from __future__ import annotations

from tests.deployment.transformed import of_type, properties, transformed

CALLED = ("RenderFunction", "DerenderFunction", "CompleteFunction", "StreamFunction", "BatchApiFunction")


def test_both_stages_throttle() -> None:
    template = transformed(PrivateVpcEndpointId="vpce-0123456789abcdef0")
    (public,) = of_type(template, "AWS::ApiGatewayV2::Stage").values()
    (private,) = of_type(template, "AWS::ApiGateway::Stage").values()
    (methods,) = private["Properties"]["MethodSettings"]
    for given in (public["Properties"]["DefaultRouteSettings"], methods):
        assert given["ThrottlingRateLimit"] == {"Ref": "ThrottleRate"}
        assert given["ThrottlingBurstLimit"] == {"Ref": "ThrottleBurst"}
    assert (methods["HttpMethod"], methods["ResourcePath"]) == ("*", "/*")
    for name in ("ThrottleRate", "ThrottleBurst"):
        assert template["Parameters"][name]["Default"] > 0


def test_functions_that_are_called_from_outside_can_have_concurrency_of_their_own() -> None:
    template = transformed()
    reserved = {"Fn::If": ["HasReserved", {"Ref": "ReservedConcurrency"}, {"Ref": "AWS::NoValue"}]}
    for name in of_type(template, "AWS::Lambda::Function"):
        given = properties(template, name).get("ReservedConcurrentExecutions")
        assert given == (reserved if name in CALLED else None), name
    assert template["Parameters"]["ReservedConcurrency"]["Default"] == ""
