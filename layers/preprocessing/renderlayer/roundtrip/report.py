"""A round trip's result, laid out for reading."""

from __future__ import annotations

from typing import Any

_SHOWN = 6
_TITLES = {"calls": "tool calls", "content": "content", "reasoning": "reasoning"}


def lines(report: dict[str, Any]) -> list[str]:
    """The result of `examine` as a title and lines."""
    if "skipped" in report:
        return ["round trip", f"  not made: {report['skipped']}"]
    rows = [(title, _counted(report, part)) for part, title in _TITLES.items()]
    rows.append(("streams", _streams(report["streams"])))
    if report["refused"]:
        reasons: dict[str, list[str]] = {}
        for row in report["refused"]:
            reasons.setdefault(row["reason"], []).append(row["case"])
        rows += [("refused", f"{_listed(cases)}: {reason}") for reason, cases in reasons.items()]
    if report["better"]:
        rows.append(("better", f"{_pair(report['better'])} reads more: {report['better']['calls']} tool calls"))
    return [f"round trip ({_pair(report)})", *(f"  {name:<10}  {value}" for name, value in rows)]


def _pair(names: dict[str, Any]) -> str:
    return " + ".join(filter(None, (names["tool_parser"], names["reasoning_parser"]))) or "no parser known"


def _counted(report: dict[str, Any], part: str) -> str:
    counts = report[part]
    if not (report["tool_parser"] or report["reasoning_parser"]):
        return f"{counts['made']} written"
    rows = [row for row in report["losses"] if row["part"] == part]
    misread = [row["case"] for row in rows if row["by"] == "parser"]
    unwritten = [row["case"] for row in rows if row["by"] == "template"]
    text = f"{counts['back']} of {counts['made']} come back"
    if misread:
        text += f"; misread: {_listed(misread)}"
    if unwritten:
        text += f"; lost by the template: {_listed(unwritten)}"
    return text


def _streams(streams: dict[str, Any]) -> str:
    if streams["unlike"]:
        return f"differ from the whole answer: {_listed(streams['unlike'])}"
    return f"{streams['read']} read in chunks, all equal to the whole answer"


def _listed(cases: list[str]) -> str:
    cases = list(dict.fromkeys(cases))
    more = f" and {len(cases) - _SHOWN} more" if len(cases) > _SHOWN else ""
    return ", ".join(cases[:_SHOWN]) + more
