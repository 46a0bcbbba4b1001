"""A stack can be deployed again after it was rolled back or deleted, next to others and under any name.

A bucket with objects cannot be deleted, and a name that is taken cannot be made; what is kept is named in an output.
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-deletionpolicy.html
https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
https://docs.aws.amazon.com/lambda/latest/api/API_PublishLayerVersion.html
"""

from __future__ import annotations

from tests.deployment.policies import names
from tests.deployment.transformed import of_type, transformed

STACK_NAME = 128
"""Most characters of a stack's name."""


def test_buckets_are_kept_with_what_is_in_them_and_are_named_by_cloudformation() -> None:
    template = transformed()
    named = {name for output in template["Outputs"].values() for name in names(output["Value"])}
    for name, row in of_type(template, "AWS::S3::Bucket").items():
        assert "BucketName" not in row["Properties"], name
        assert row["DeletionPolicy"] == "RetainExceptOnCreate", name
        assert name in named


def test_the_longest_name_of_a_stack_fits_into_every_name_that_is_made_of_it() -> None:
    template = transformed(PrivateVpcEndpointId="vpce-0123456789abcdef0")
    longest = {"LayerName": 140, "LogGroupName": 512, "Name": 128}
    seen = set()
    for name, row in template["Resources"].items():
        for field in longest.keys() & row["Properties"].keys():
            value = row["Properties"][field]
            text = value.get("Fn::Sub", "${AWS::StackName}") if isinstance(value, dict) else value
            most = 1024 if row["Type"] == "AWS::ApiGateway::RestApi" else longest[field]
            assert len(text.replace("${AWS::StackName}", "s" * STACK_NAME)) <= most, name
            seen.add(row["Type"])
    assert seen >= {"AWS::Lambda::LayerVersion", "AWS::Logs::LogGroup"}


def test_nothing_else_is_kept_but_versions() -> None:
    for name, row in transformed()["Resources"].items():
        if row["Type"] not in ("AWS::S3::Bucket", "AWS::Lambda::Version"):
            assert row.get("DeletionPolicy", "Delete") == "Delete", name


def test_names_that_are_given_hold_the_stacks() -> None:
    for name, row in transformed()["Resources"].items():
        for given in ("FunctionName", "QueueName", "RoleName", "AlarmName", "DashboardName", "BucketName"):
            text = row["Properties"].get(given)
            assert not isinstance(text, str), (name, given)
        if row["Type"] == "AWS::Logs::LogGroup":
            assert "${AWS::StackName}" in row["Properties"]["LogGroupName"]["Fn::Sub"], name
