"""What `template.yaml` deploys: the functions, and the routes of the HTTP API that lead to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
FRONT_DOOR = "/v1/chat/completions"
FUNCTION, URL = "AWS::Serverless::Function", "AWS::Lambda::Url"


@dataclass(frozen=True)
class Function:
    """A function of the template.

    Attributes:
        name: its logical id.
        module: the Python module of its handler, from the root of the repository.
        attribute: the handler's name in that module.
    """

    name: str
    module: str
    attribute: str


@dataclass(frozen=True)
class Template:
    """Functions by logical id, and the function's id for each (method, path).

    The method ANY stands for every method, the path None for every path that has no route of its own, and a segment in
    braces for any segment. `streaming` is the function whose URL streams its answers.
    """

    functions: Mapping[str, Function]
    routes: Mapping[tuple[str, str | None], str]
    streaming: str | None = None

    @property
    def front_door(self) -> str | None:
        """Id of the function behind the HTTP API that does the same without streaming."""
        return self.routes.get(("ANY", FRONT_DOOR))

    def function_for(self, method: str, path: str) -> str | None:
        """Id of the function that answers a request, as API Gateway picks it: the most specific route wins."""
        paths = [path, *(known for _, known in self.routes if known is not None and _fits(path, known)), None]
        wanted = ((chosen, known) for known in paths for chosen in (method, "ANY"))
        return next((self.routes[route] for route in wanted if route in self.routes), None)


def read(path: Path = TEMPLATE) -> Template:
    """Read functions and HTTP API routes out of a SAM template."""
    document = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # a SafeLoader
    handler = document["Globals"]["Function"]["Handler"]
    functions: dict[str, Function] = {}
    streaming = None
    routes: dict[tuple[str, str | None], str] = {}
    for name, resource in document["Resources"].items():
        if resource["Type"] == URL and resource["Properties"]["InvokeMode"] == "RESPONSE_STREAM":
            streaming = resource["Properties"]["TargetFunctionArn"].removesuffix(".Alias")
        if resource["Type"] != FUNCTION:
            continue
        properties = resource["Properties"]
        module, _, attribute = properties.get("Handler", handler).rpartition(".")
        functions[name] = Function(name, ".".join([*Path(properties["CodeUri"]).parts, module]), attribute)
        for event in properties.get("Events", {}).values():
            if event["Type"] == "HttpApi":
                route = event["Properties"]
                routes[route.get("Method", "ANY").upper(), route.get("Path")] = name
    return Template(functions, routes, streaming)


def _fits(path: str, route: str) -> bool:
    """Whether a path is one of a route with segments in braces."""
    segments, known = path.split("/"), route.split("/")
    return len(segments) == len(known) and all(
        wanted == segment or (wanted.startswith("{") and segment)
        for segment, wanted in zip(segments, known, strict=True)
    )


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags (`!Ref`, `!Sub`, …), whose arguments are kept as they stand."""


def _argument(loader: _Loader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node)
    assert isinstance(node, yaml.MappingNode)
    return loader.construct_mapping(node)


_Loader.add_multi_constructor("!", _argument)
