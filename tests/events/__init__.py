"""Events as each source sends them to a function: a JSON file each, and a factory for those that carry HTTP.

Their forms are those of AWS's documentation: HTTP API (payload 2.0), REST API (payload 1.0), function URL,
Application Load Balancer, S3 and SQS. Every factory takes the same arguments, so that a test runs over all of them.
"""

from tests.events.balancer import load_balancer
from tests.events.context import FakeContext, recorded
from tests.events.http_api import function_url, http_api
from tests.events.rest_api import rest_api

SOURCES = (http_api, rest_api, function_url, load_balancer)

__all__ = ["SOURCES", "FakeContext", "function_url", "http_api", "load_balancer", "recorded", "rest_api"]
