"""Lambda stops a message after 16 passes through the same function, a queue or a bucket between, unless it is allowed.

https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
"""

from __future__ import annotations

from tests.deployment.policies import resources_of, statements
from tests.deployment.transformed import Json, of_type, properties, transformed


def loops(template: Json) -> set[str]:
    """Functions that send messages to a queue that calls them, or write where an event of the bucket does."""
    notified = {
        row["Queue"]["Fn::GetAtt"][0]
        for row in properties(template, "BatchBucket")["NotificationConfiguration"]["QueueConfigurations"]
    }
    found = set()
    for mapping in of_type(template, "AWS::Lambda::EventSourceMapping").values():
        queue = mapping["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]
        alias = template["Resources"][mapping["Properties"]["FunctionName"]["Ref"]]
        function = alias["Properties"]["FunctionName"]["Ref"]
        role = properties(template, function)["Role"]["Fn::GetAtt"][0]
        for statement in statements(template, role):
            sends = "sqs:SendMessage" in statement["Action"] and queue in resources_of(statement)
            writes = (
                queue in notified and "s3:PutObject" in statement["Action"] and "BatchBucket" in resources_of(statement)
            )
            if sends or (writes and queue in notified):
                found.add(function)
    return found


def test_functions_that_send_to_themselves_are_allowed_to_and_no_others_are() -> None:
    template = transformed()
    functions = of_type(template, "AWS::Lambda::Function")
    allowed = {name for name, row in functions.items() if row["Properties"].get("RecursiveLoop") == "Allow"}
    assert allowed == loops(template) == {"BatchSplitFunction", "BatchWorkFunction", "BatchJoinFunction"}
