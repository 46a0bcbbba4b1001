"""A stack that the real `sam deploy` makes out of a build, and what can be asked of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infra.rehearsal.cloud import Cloud
from infra.rehearsal.emulator.rest import ENDPOINT
from infra.rehearsal.machine import CACHE, ROOT, Machine
from renderlayer.errors import ConfigurationError

BUILT = CACHE / "build/template.yaml"
"""What `make rehearse` builds: the default model, beside what `make build` left to be deployed."""


@dataclass(frozen=True)
class Stack:
    """A stack by name, there or not."""

    cloud: Cloud
    machine: Machine
    name: str
    template: Path = BUILT

    def deploy(self, **parameters: str) -> None:
        """`sam deploy`, as the README has it.

        Raises:
            ConfigurationError: it failed; the message is the end of its output.
        """
        command = [self.machine.sam, "deploy", "--template", str(self.template), "--stack-name", self.name]
        command += ["--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset"]
        if parameters:
            command += ["--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **self.cloud.environment()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            reasons = [line for line in done.stdout.splitlines() if "FAILED" in line]
            raise ConfigurationError("\n".join(["sam deploy failed:", *reasons, done.stdout[-2000:]]))

    def delete(self) -> list[str]:
        """Delete the stack; the resources that are kept, by logical id."""
        client = self.cloud.client("cloudformation")
        told = client.describe_stacks(StackName=self.name)["Stacks"][0]
        client.delete_stack(StackName=self.name)
        client.get_waiter("stack_delete_complete").wait(StackName=told["StackId"], WaiterConfig={"Delay": 1})
        events = client.describe_stack_events(StackName=told["StackId"])["StackEvents"]
        return sorted({row["LogicalResourceId"] for row in events if row["ResourceStatus"] == "DELETE_SKIPPED"})

    def outputs(self) -> dict[str, str]:
        """What the stack tells of itself."""
        told = self.cloud.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"][0]
        return {row["OutputKey"]: row["OutputValue"] for row in told.get("Outputs", ())}

    def functions(self) -> dict[str, str]:
        """Names of functions by logical id."""
        client = self.cloud.client("cloudformation")
        pages = client.get_paginator("list_stack_resources").paginate(StackName=self.name)
        rows = [row for page in pages for row in page["StackResourceSummaries"]]
        return {
            row["LogicalResourceId"]: row["PhysicalResourceId"]
            for row in rows
            if row["ResourceType"] == "AWS::Lambda::Function"
        }

    def functions_left(self) -> list[str]:
        """Functions of that stack's name, there though the stack is not."""
        rows = self.cloud.client("lambda").get_paginator("list_functions").paginate()
        names = (row["FunctionName"] for page in rows for row in page["Functions"])
        return [name for name in names if name.startswith(f"{self.name}-")]

    def versions(self) -> dict[str, str]:
        """The version that each function's alias `live` leads to, by logical id."""
        client = self.cloud.client("lambda")
        return {
            logical_id: client.get_alias(FunctionName=name, Name="live")["FunctionVersion"]
            for logical_id, name in self.functions().items()
        }

    def log(self, name: str) -> str:
        """Everything in the log group of that last name, such as "stream"."""
        client, group = self.cloud.client("logs"), f"/aws/lambda/{self.name}-{name}"
        events = client.filter_log_events(logGroupName=group)["events"]
        return "\n".join(event["message"] for event in events)

    def local(self, url: str) -> tuple[str, Mapping[str, str]]:
        """(URL, headers) by which the emulator answers for a public URL."""
        parts = urlsplit(url)
        host = parts.netloc.replace(".amazonaws.com", "").replace(".on.aws", "")
        api, dot, _ = host.partition(".execute-api.")
        api, through, endpoint = api.partition("-vpce-")  # the name that a private API has in its network
        way = {ENDPOINT: f"vpce-{endpoint}"} if through else {}
        host = f"{api}.execute-api" if dot else host
        return self.cloud.url + parts.path.rstrip("/"), {"Host": f"{host}.localhost:{self.cloud.port}", **way}


def physical(stack: Stack, logical_id: str) -> Any:
    """The physical id of a resource."""
    client = stack.cloud.client("cloudformation")
    told = client.describe_stack_resource(StackName=stack.name, LogicalResourceId=logical_id)
    return told["StackResourceDetail"]["PhysicalResourceId"]
