"""Every example that a reader can copy runs, and prints what the text beside it says.

In a page, a ``python`` block directly followed by a ``text`` block prints exactly that text, and a ``console`` block
holds commands (``$ ...``) with their output; ``...`` stands for anything. Other commands are not run (CI runs ``make
demo``). A docstring's example is a doctest.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "120",
    "NO_COLOR": "1",
}


def blocks(language: str) -> Iterator[tuple[str, str, str]]:
    """Yield (name, block, output shown after it) for every block in a language."""
    for page in PAGES:
        text = page.read_text()
        for match in FENCE.finditer(text):
            if match[1] == language:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{page.relative_to(ROOT)}:{line}", match[2], match[3] or ""


def console_lines() -> Iterator[tuple[str, str, str]]:
    """Yield (name, command, output shown) for every ``$ makerspace`` line of the console blocks."""
    for name, block, _ in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            if "makerspace" in shlex.split(command, comments=True):
                yield f"{name} {command}", command, shown


def modules_with_examples() -> Iterator[str]:
    for path in sorted(ROOT.glob("[a-z]*/**/*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] not in {"tests", "benchmarks", "build"} and re.search(
            r"^\s*>>> ", path.read_text(), re.MULTILINE
        ):
            yield ".".join(("makerspace", *place.with_suffix("").parts)).removesuffix(".__init__")


def run(command: list[str], folder: Path, script: str | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, input=script, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def agree(shown: str, printed: str) -> None:
    """Compare as doctest does; a trailing blank counts for nothing."""
    tidy = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    assert doctest.OutputChecker().check_output(shown.strip() + "\n", tidy + "\n", FLAGS), (
        f"shown:\n{shown}\nprinted:\n{printed}"
    )


def cases(found: Iterator[tuple[str, str, str]]) -> list[object]:
    return [pytest.param(code, shown, id=name) for name, code, shown in found]


@pytest.mark.parametrize(("code", "shown"), cases(blocks("python")))
def test_python_block(code: str, shown: str, tmp_path: Path) -> None:
    agree(shown, run([sys.executable, "-"], tmp_path, code))


@pytest.mark.parametrize(("command", "shown"), cases(console_lines()))
def test_console_line(command: str, shown: str, tmp_path: Path) -> None:
    agree(shown, run(["bash", "-c", command], tmp_path))


@pytest.mark.parametrize("module", modules_with_examples())
def test_docstring(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_readme_shows_examples() -> None:
    """The tests above are vacuous without examples; the README must hold both kinds."""
    assert [name for name, _, shown in blocks("python") if name.startswith("README.md") and shown]
    assert [name for name, _, _ in console_lines() if name.startswith("README.md")]


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = [target for target in LINK.findall(page.read_text()) if not (page.parent / target).exists()]
    assert dead == []


def test_the_tree_in_the_readme_is_the_tree() -> None:
    """Every file of the library has its clause, and every clause its file."""
    tree = re.search(r"```tree\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert tree is not None
    assert set(entries(tree[1])) == files()


def entries(tree: str) -> Iterator[str]:
    """Yield the files of an indented tree: a folder ends with ``/``, two blanks deeper lies what it holds."""
    folders: list[str] = []
    for line in tree.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        folders = folders[:depth]
        if name.endswith("/"):
            folders.append(name)
        else:
            yield "".join(folders) + name


def files() -> set[str]:
    paths = (path.relative_to(ROOT) for path in ROOT.glob("[a-z]*/**/*.py"))
    return {
        str(path)
        for path in paths
        if path.parts[0] not in {"tests", "build", "dist", "runs"} and path.name != "__init__.py"
    }
