"""An HTTP API waits 30 s for an answer, which no setting changes, a REST API 29 s, or 15 minutes where it streams; a
queue hides a message for six of its timeouts.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode.html
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
"""

from __future__ import annotations

from renderlayer.http.aws.lambda_handler import LAST_SECONDS
from tests.deployment.transformed import of_type, properties, transformed

WAITS = 30


def test_functions_of_the_api_end_before_it_gives_up() -> None:
    template = transformed()
    called = {
        properties(template, row["Properties"]["FunctionName"]["Ref"])["FunctionName"]["Ref"]
        for row in of_type(template, "AWS::Lambda::Permission").values()
        if row["Properties"]["Principal"] == "apigateway.amazonaws.com"
    }
    streams = properties(template, "StreamFunction")["Timeout"]
    called.remove("StreamFunction")
    front_door = properties(template, "RestApi")["Body"]["paths"]["/v1/chat/completions"]
    integration = front_door["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"]
    assert integration["timeoutInMillis"] == {"Fn::If": ["HasEngine", streams * 1000, 29_000]}
    assert called == {"RenderFunction", "DerenderFunction", "CompleteFunction", "BatchApiFunction"}
    for name in called:
        assert 0 < properties(template, name)["Timeout"] - LAST_SECONDS < WAITS - 2


def test_a_queue_hides_messages_for_long_enough() -> None:
    template = transformed()
    for mapping in of_type(template, "AWS::Lambda::EventSourceMapping").values():
        alias = mapping["Properties"]["FunctionName"]["Ref"]
        function = properties(template, properties(template, alias)["FunctionName"]["Ref"])
        queue = properties(template, mapping["Properties"]["EventSourceArn"]["Fn::GetAtt"][0])
        assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
