"""Alarms watch what can happen, of this stack alone.

https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Dimension
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-metrics.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
"""

from __future__ import annotations

import json

from tests.deployment.policies import names
from tests.deployment.transformed import Json, of_type, properties, transformed

PUBLISHED = {
    "AWS/Lambda": ({"Errors", "Throttles", "Duration", "Invocations"}, {"FunctionName"}),
    "AWS/SQS": ({"ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"}, {"QueueName"}),
}
"""Metrics of AWS's own namespaces, and the dimensions under which they are published."""
API_ERRORS = {"5xx": "ApiId", "5XXError": "ApiName"}
"""Of HTTP APIs and of REST APIs."""


def metrics(template: Json) -> list[Json]:
    """Every metric that an alarm looks at."""
    found = []
    for row in of_type(template, "AWS::CloudWatch::Alarm").values():
        given = row["Properties"]
        if "Metrics" in given:
            found += [entry["MetricStat"]["Metric"] for entry in given["Metrics"] if "MetricStat" in entry]
        else:
            found.append(given)
    return found


def test_throttles_of_every_function_are_seen() -> None:
    template = transformed()
    seen = {row["Dimensions"][0]["Value"]["Ref"] for row in metrics(template) if row["MetricName"] == "Throttles"}
    assert seen == set(of_type(template, "AWS::Lambda::Function"))


def test_no_two_stacks_share_a_metric() -> None:
    template = transformed()
    for row in metrics(template):
        own = {*names(row.get("Dimensions", [])), *names(row["Namespace"])}
        assert own & ({*template["Resources"], "AWS::StackName"}), row


def test_metrics_of_aws_exist_under_their_dimensions() -> None:
    for row in metrics(transformed()):
        dimensions = {each["Name"] for each in row.get("Dimensions", [])}
        if row["Namespace"] == "AWS/ApiGateway":
            assert dimensions == {API_ERRORS[row["MetricName"]]}
        elif str(row["Namespace"]).startswith("AWS/"):
            names_, wanted = PUBLISHED[row["Namespace"]]
            assert row["MetricName"] in names_
            assert dimensions == wanted


def test_a_rest_api_is_watched_by_its_own_name() -> None:
    template = transformed()
    alarm, api = template["Resources"]["RestServerErrorsAlarm"], properties(template, "RestApi")
    assert alarm["Condition"] == template["Resources"]["RestApi"]["Condition"]
    assert alarm["Properties"]["Dimensions"] == [{"Name": "ApiName", "Value": api["Name"]}]
    assert api["Body"]["info"]["title"] == api["Name"]  # the name of an API that is imported


def test_what_ends_badly_is_told() -> None:
    template = transformed()
    seen = {(row["MetricName"], tuple(names(row.get("Dimensions", [])))) for row in metrics(template)}
    for wanted in (
        ("Errors", ("StreamFunction",)),
        ("ServerErrors", ("StreamFunction",)),
        ("Duration", ("RenderFunction",)),
        ("Duration", ("DerenderFunction",)),
        ("EngineFailures", ()),
        ("Invocations", ("BatchDeadFunction",)),
        ("ApproximateNumberOfMessagesVisible", ("BatchLostMessages",)),
        ("5xx", ("Api",)),
    ):
        assert wanted in seen, wanted


def test_the_dashboard_is_json() -> None:
    body = properties(transformed(), "Dashboard")["DashboardBody"]["Fn::Sub"]
    titles = [widget["properties"]["title"] for widget in json.loads(body)["widgets"]]
    for signal in ("Latency", "Traffic", "Errors", "Saturation", "Tokens a second"):
        assert any(signal in title for title in titles)
