"""What the README and the pages of docs/ say is so: tables, links, commands, snippets."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from infra.local.__main__ import main as local
from renderlayer import cli
from renderlayer.http.complete import PATHS
from renderlayer.http.routes import ROUTES
from renderlayer.settings import table
from tests.derender.engine import choice, encoded, response
from tests.local.test_run import demonstration, read_until, weighted_model
from tests.ports import free_port

__all__ = ["weighted_model"]

ROOT = Path(__file__).resolve().parents[1]
OURS = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in OURS), *ROOT.glob("[CS]*.md")]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(page: Path, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The words of every command of the pages, without comments."""
    lines = (line for page in PAGES for block in blocks(page) for line in block.replace("\\\n", " ").splitlines())
    ours = re.compile(r"(make|renderlayer|python -m|pip|sam|vllm) ")
    return [shlex.split(line, comments=True) for line in lines if ours.match(line)]


def test_the_table_of_settings_is_the_one_of_the_code() -> None:
    rows = [f"| `{variable}` | `{flag}` | `{default}` | {about} |" for variable, flag, default, about in table()]
    written = text("docs/settings.md").split("<!-- settings -->\n")[1].split("<!-- /settings -->")[0].strip()
    assert written.splitlines()[2:] == rows


def test_every_endpoint_is_named() -> None:
    page = text("docs/api.md")
    for path in [*(route.path for route in ROUTES), *PATHS]:
        parts = path.removeprefix("/v1/").split("/")
        assert all(part in page for part in parts), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_is_short_and_leads_to_the_pages() -> None:
    readme = text("README.md")
    assert len(readme.splitlines()) < 130
    assert [name for name in OURS if f"(docs/{name}.md)" not in readme] == []


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    named = {words[1] for words in commands() if words[0] == "make"}
    named |= set(re.findall(r"`make ([a-z-]+)", "".join(page.read_text(encoding="utf-8") for page in PAGES)))
    assert {"run", "test", "build", "wheel"} <= named <= targets


def test_extras_exist() -> None:
    project = text("pyproject.toml")
    installs = [words[-1] for words in commands() if words[0] == "pip"]
    (extras,) = {found for last in installs for found in re.findall(r"\[([a-z,]+)\]$", last)}
    assert all(re.search(rf"^{extra} = ", project, re.MULTILINE) for extra in extras.split(","))


@pytest.mark.parametrize(
    "words",
    [words for words in commands() if words[0] == "renderlayer" or words[:3] == ["python", "-m", "infra.local"]],
    ids=" ".join,
)
def test_flags_of_commands_exist(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands are taken as they stand; that they do what they should is held elsewhere."""
    ran: list[str] = []

    def run(arguments: Any) -> int:
        ran.append(arguments.command if words[0] == "python" else words[1])
        return 0

    if words[0] == "python":
        words = [word for word in words if word != "[flags]"]
        module = import_module(f"infra.local.{words[3]}")
        monkeypatch.setattr(module, words[3] if words[3] in ("serve", "invoke") else "run", run)
        monkeypatch.setattr("infra.local.__main__.exit_on_signals", lambda: None)
        assert local(words[3:]) == 0
    else:
        known = [cli.Command(one.name, one.about, one.arguments, run) for one in cli.COMMANDS]
        monkeypatch.setattr(cli, "COMMANDS", known)
        assert cli.main(words[1:]) == 0
    assert ran


def test_the_middleware_of_the_engine_can_be_imported() -> None:
    (words,) = [words for words in commands() if words[0] == "vllm"]
    module, _, name = words[words.index("--middleware") + 1].rpartition(".")
    assert callable(getattr(import_module(module), name))


def test_the_snippet_of_the_library(server: Any) -> None:
    (snippet,) = blocks(ROOT / "docs/library.md", "python")
    assert '"qwen3-8b"' in snippet
    generated = response(choice(encoded(server, "Hello there")))
    names: dict[str, Any] = {"generated": generated}
    exec(compile(snippet.replace('"qwen3-8b"', repr(server.settings.model)), "library.md", "exec"), names)
    assert names["rendered"]["token_ids"]
    assert names["answer"]["choices"][0]["message"]["content"] == "Hello there"


def test_the_snippet_of_the_start(server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = blocks(ROOT / "docs/start.md", "python")
    exec(compile(snippet.replace('"qwen3-8b"', repr(server.settings.model)), "start.md", "exec"), {})
    assert json.loads(capsys.readouterr().out)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("jq") or not shutil.which("curl"), reason="needs curl and jq")
def test_the_tour(weighted_model: Path, tmp_path: Path) -> None:
    """Every curl of README and docs/api.md, one after the other, against what `make run` starts."""
    ports = [free_port(), free_port()]
    with demonstration(weighted_model, ports, tmp_path) as demo:
        read_until("Ctrl-C", demo)
        for page in (ROOT / "docs/api.md", ROOT / "README.md"):
            for block in blocks(page):
                for line in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE):
                    here = line.replace(":8080/", f":{ports[0]}/").replace(":8081/", f":{ports[1]}/")
                    here = here.replace('"temperature": 0}', '"temperature": 0, "max_tokens": 8}')
                    done = subprocess.run(
                        ["bash", "-euo", "pipefail", "-c", here],
                        cwd=tmp_path,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert done.returncode == 0, done.stderr
                    assert "error" not in json.loads(done.stdout), done.stdout
        assert json.loads((tmp_path / "generated.json").read_text())["choices"]
        demo.terminate()
        demo.communicate()
