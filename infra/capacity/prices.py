"""List prices in US dollars of us-east-1 (N. Virginia), first tiers, put down on 1 December 2026.

They were taken from pages that quote AWS's, which are the ones to ask:
https://aws.amazon.com/lambda/pricing/ https://aws.amazon.com/api-gateway/pricing/ https://aws.amazon.com/fargate/pricing/
https://aws.amazon.com/elasticloadbalancing/pricing/
"""

from __future__ import annotations

REGION, DATE = "us-east-1", "2026-12-01"

GB_SECOND = {"x86_64": 0.0000166667, "arm64": 0.0000133334}
"""A function's memory for a second, by architecture."""
REQUEST = 0.20e-6
"""An invocation."""
API = {"HttpApi": 1.00e-6, "RestApi": 3.50e-6, "function URL": 0.0}
"""A request of the front; HTTP APIs count every 512 KB of one."""
VCPU_HOUR, GB_HOUR = 0.04048, 0.004445
"""Fargate, Linux on x86."""
BALANCER_HOUR, UNIT_HOUR = 0.0225, 0.008
"""An Application Load Balancer, and one of its capacity units."""
