"""Roles hold what a function does, and no more: no wildcards, and what Lambda itself needs to poll a queue.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#events-sqs-permissions
https://docs.aws.amazon.com/IAM/latest/UserGuide/best-practices.html#grant-least-privilege
"""

from __future__ import annotations

from tests.deployment.policies import resources_of, statements
from tests.deployment.transformed import of_type, properties, transformed

POLLING = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}


def test_no_action_and_no_resource_is_a_wildcard() -> None:
    template = transformed()
    for role in of_type(template, "AWS::IAM::Role"):
        for statement in statements(template, role):
            assert not any("*" in action for action in statement["Action"]), role
            assert statement["Resource"] != "*", role
            assert resources_of(statement), role


def test_queues_can_be_polled_by_the_functions_that_they_call() -> None:
    template = transformed()
    for mapping in of_type(template, "AWS::Lambda::EventSourceMapping").values():
        queue = mapping["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]
        alias = mapping["Properties"]["FunctionName"]["Ref"]
        role = properties(template, properties(template, alias)["FunctionName"]["Ref"])["Role"]["Fn::GetAtt"][0]
        actions = {
            action
            for statement in statements(template, role)
            if queue in resources_of(statement)
            for action in statement["Action"]
        }
        assert actions >= POLLING | {"sqs:ChangeMessageVisibility", "sqs:GetQueueUrl"}, alias


def test_every_function_has_a_role_of_its_own() -> None:
    functions = of_type(transformed(), "AWS::Lambda::Function").values()
    roles = [row["Properties"]["Role"]["Fn::GetAtt"][0] for row in functions]
    assert len(set(roles)) == len(roles)


def test_a_bucket_is_reached_by_the_functions_that_are_told_of_it() -> None:
    template = transformed()
    for name, row in of_type(template, "AWS::Lambda::Function").items():
        told = row["Properties"]["Environment"]["Variables"].values()
        role = row["Properties"]["Role"]["Fn::GetAtt"][0]
        named = {target for statement in statements(template, role) for target in resources_of(statement)}
        for bucket in ("References", "BatchBucket"):
            assert (bucket in named) == ({"Ref": bucket} in told), (name, bucket)
