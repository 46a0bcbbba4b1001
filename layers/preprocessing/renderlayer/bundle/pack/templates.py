"""The chat templates of a model, and the engine that is proved to render each."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any

from renderlayer.bundle.analysis import analyse
from renderlayer.bundle.engines.engine import Analysis
from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.bundle.engines.mini import MiniEngine
from renderlayer.bundle.pack.probes.conversations import Case, cases
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.templates import DEFAULT
from renderlayer.errors import BadRequest

_BUILT_IN = {
    "Llama4ForConditionalGeneration": ("transformers.models.llama4.processing_llama4", "chat_template"),
    "Qwen2AudioForConditionalGeneration": (
        "transformers.models.qwen2_audio.processing_qwen2_audio",
        "Qwen2AudioProcessor",
        "default_chat_template",
    ),
}
"""Architecture → where transformers keeps the template that its processor uses when the folder has none for it."""


def tokenizer_templates(source: ModelSource) -> dict[str, str]:
    """The tokenizer's templates by name: files first, else `tokenizer_config.json` (wire.md 3.4)."""
    found: dict[str, str] = {}
    main = source.folder / "chat_template.jinja"
    if main.is_file():
        found[DEFAULT] = main.read_text(encoding="utf-8")
    for path in sorted((source.folder / "additional_chat_templates").glob("*.jinja")):
        found[path.stem] = path.read_text(encoding="utf-8")
    if found:
        return found
    given = source.tokenizer_config.get("chat_template")
    if isinstance(given, list):
        return {str(row["name"]): str(row["template"]) for row in given}
    return {DEFAULT: given} if isinstance(given, str) else {}


def processor_template(source: ModelSource) -> str | None:
    """The processor's own template, used without tools; None when it has none or is the tokenizer's (wire.md 3.4)."""
    if not source.processor or (source.folder / "chat_template.jinja").is_file():
        return None
    given = source.json("chat_template.json").get("chat_template")
    given = given or source.processor.get("processor_config", {}).get("chat_template")
    return given if isinstance(given, str) else _built_in(source)


def _built_in(source: ModelSource) -> str | None:
    """The template that transformers' processor of the model carries itself, where transformers is installed."""
    architecture = next(iter(source.config.get("architectures") or []), "")
    if architecture not in _BUILT_IN:
        return None
    module, *names = _BUILT_IN[architecture]
    try:
        value: Any = import_module(module)
        for name in names:
            value = getattr(value, name)
    except (ImportError, AttributeError):
        return None
    text = value.fget(None) if isinstance(value, property) and value.fget else value
    return text if isinstance(text, str) else None


def describe_templates(source: ModelSource, special_tokens: dict[str, str], out: Path) -> dict[str, Any]:
    """Write the templates and choose their engines; returns the `templates` object of `bundle.json`."""
    named = {
        name: _describe(text, special_tokens, out, f"template-{_file_name(name)}.jinja")
        for name, text in sorted(tokenizer_templates(source).items())
    }
    processor = processor_template(source)
    return {
        "named": named,
        "by_name": len(named) > 1 or isinstance(source.tokenizer_config.get("chat_template"), list),
        "processor": _describe(processor, special_tokens, out, "template-processor.jinja") if processor else None,
    }


def _describe(text: str, special_tokens: dict[str, str], out: Path, file: str) -> dict[str, Any]:
    (out / file).write_text(text, encoding="utf-8")
    analysis = analyse(text)
    equal, difference = _compare(text, special_tokens, analysis)
    return {
        "file": file,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "content_format": analysis.content_format,
        "variables": sorted(analysis.variables),
        "engine": "jinja2" if difference else "minijinja",
        "equal": equal,
        "difference": difference,
    }


def _compare(text: str, special_tokens: dict[str, str], analysis: Analysis) -> tuple[int, str]:
    """Renderings that came out equal, and the first difference ("" when there is none)."""
    try:
        reference = JinjaEngine(text)
    except BadRequest as error:
        return 0, f"jinja2 does not compile it: {error}"
    try:
        mini = MiniEngine(text)
    except Exception as error:
        return 0, f"it does not compile the template: {str(error).splitlines()[0]}"
    equal = 0
    for number, case in enumerate(cases(analysis.content_format)):
        context = _context(case, special_tokens, analysis.variables)
        expected = _outcome(reference, context)
        if expected != _outcome(mini, context):
            return equal, f"it renders conversation {number} of the proof differently"
        equal += expected is not None
    return equal, ""


def _context(case: Case, special_tokens: dict[str, str], variables: frozenset[str]) -> dict[str, Any]:
    known = {name: value for name, value in case.kwargs.items() if name in variables}
    fixed = {
        "messages": case.conversation,
        "tools": case.tools,
        "documents": case.kwargs.get("documents"),
        "add_generation_prompt": case.kwargs["add_generation_prompt"],
    }
    return special_tokens | known | fixed


def _outcome(engine: JinjaEngine | MiniEngine, context: dict[str, Any]) -> str | None:
    """The rendering; None when it fails."""
    try:
        return engine.render_strict(context) if isinstance(engine, MiniEngine) else engine.render(context)
    except Exception:
        return None


def _file_name(name: str) -> str:
    return "".join(character if character.isalnum() or character in "-_" else "_" for character in name)
