"""Buckets take TLS alone, drop uploads that were not completed, and keep no version longer than users are told.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/example-bucket-policies.html#example-bucket-policies-HTTP-HTTPS
https://docs.aws.amazon.com/AmazonS3/latest/userguide/intro-lifecycle-rules.html
"""

from __future__ import annotations

from tests.deployment.transformed import of_type, properties, transformed

BUCKETS = ("References", "BatchBucket")


def test_every_bucket_refuses_what_comes_without_tls() -> None:
    template = transformed()
    policies = {row["Properties"]["Bucket"]["Ref"]: row for row in of_type(template, "AWS::S3::BucketPolicy").values()}
    assert set(policies) == set(BUCKETS) == set(of_type(template, "AWS::S3::Bucket"))
    for row in policies.values():
        (statement,) = row["Properties"]["PolicyDocument"]["Statement"]
        assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        assert len(statement["Resource"]) == 2


def test_everything_in_a_bucket_goes() -> None:
    template = transformed()
    for bucket in BUCKETS:
        given = properties(template, bucket)
        rules = given["LifecycleConfiguration"]["Rules"]
        assert any("ExpirationInDays" in rule for rule in rules)
        assert any("AbortIncompleteMultipartUpload" in rule for rule in rules)
        if "VersioningConfiguration" in given:
            assert {rule["NoncurrentVersionExpiration"]["NoncurrentDays"] for rule in rules[:1]} == {2}
            assert any(rule.get("ExpiredObjectDeleteMarker") for rule in rules)
    about = template["Parameters"]["BatchDays"]["Description"]
    assert "two days after" in about
