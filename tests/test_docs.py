"""Every example that a reader can copy runs, and prints what the text beside it says.

A page is followed as a reader would: its blocks run in order, in one empty folder. A ``python`` block directly followed
by a ``text`` block prints exactly that text; a ``console`` block holds commands (``$ ...``) with their output, where
``...`` stands for anything, and commands other than ``makerspace`` are passed over (CI itself runs ``make demo``). A
docstring's example is a doctest.
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"])
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "120",
    "NO_COLOR": "1",
}


def examples(page: Path) -> Iterator[tuple[int, list[str], str, str]]:
    """Yield line, command, what to write to it, and the output shown, for everything in a page that can be run."""
    text = page.read_text()
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] == "python":
            yield line, [sys.executable, "-"], match[2], match[3] or ""
            continue
        for part in re.split(r"^\$ ", match[2], flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            if re.search(r"(^|\| )makerspace ", command):
                yield line, ["bash", "-c", command], "", shown


def modules_with_examples() -> Iterator[str]:
    for path in sorted(ROOT.glob("[a-z]*/**/*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] in {"tests", "benchmarks", "build"}:
            continue
        if re.search(r"^\s*>>> ", path.read_text(), re.MULTILINE):
            yield ".".join(("makerspace", *place.with_suffix("").parts)).removesuffix(".__init__")


def agree(shown: str, printed: str) -> bool:
    """Compare as doctest does; a trailing blank counts for nothing."""
    tidy = "\n".join(line.rstrip() for line in printed.strip().splitlines())
    return doctest.OutputChecker().check_output(shown.strip() + "\n", tidy + "\n", FLAGS)


@pytest.mark.parametrize("page", [page for page in PAGES if list(examples(page))], ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path) -> None:
    for line, command, script, shown in examples(page):
        done = subprocess.run(
            command, cwd=tmp_path, input=script, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
        )
        place = f"{page.name}:{line} {command[-1]}"
        assert done.returncode == 0, f"{place}\n{done.stdout}{done.stderr}"
        assert not shown or agree(shown, done.stdout), f"{place}\nshown:\n{shown}\nprinted:\n{done.stdout}"


@pytest.mark.parametrize("module", list(modules_with_examples()))
def test_docstring(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module), optionflags=FLAGS)
    assert result.failed == 0


def test_the_readme_shows_examples() -> None:
    """The tests above are vacuous without examples; the README must hold both kinds, with their output."""
    kinds = {command[0] == "bash" for _, command, _, shown in examples(ROOT / "README.md") if shown}
    assert kinds == {True, False}


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


def test_every_benchmark_has_its_line() -> None:
    scripts = [path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text()]
    text = (ROOT / "benchmarks" / "README.md").read_text()
    assert sorted(re.findall(r"^\| `python -m benchmarks\.(\w+)", text, re.MULTILINE)) == sorted(scripts)
