"""The distribution: what it packs, what it promises, and that importing it stays cheap."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_PACKAGES = {"tests", "benchmarks", "docs", "build", "dist", "runs"}
HEAVY = (
    "torch",
    "cadquery",
    "OCP",
    "vtk",
    "vtkmodules",
    "transformers",
    "tokenizers",
    "matplotlib",
    "scipy",
    "just_bash",
    "typer",
    "rich",
)


def packages_in_the_tree() -> set[str]:
    folders = (path.parent.relative_to(ROOT) for path in ROOT.rglob("__init__.py"))
    return {
        ".".join(("makerspace", *folder.parts))
        for folder in folders
        if not (
            folder.parts and (folder.parts[0] in NOT_PACKAGES or any(part.startswith(".") for part in folder.parts))
        )
    }


def test_packages_are_those_of_the_tree() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == listed, "keep the list sorted"
    assert set(listed) == packages_in_the_tree()


def test_every_module_lies_in_a_package() -> None:
    modules = {path.parent for path in ROOT.rglob("*.py") if ".venv" not in path.parts and ".typings" not in path.parts}
    inside = {folder for folder in modules if folder != ROOT and folder.relative_to(ROOT).parts[0] not in NOT_PACKAGES}
    homeless = sorted(str(folder) for folder in inside if not (folder / "__init__.py").exists())
    assert homeless == []


def test_the_root_holds_nothing_but_the_package_and_its_command() -> None:
    assert sorted(path.name for path in ROOT.glob("*.py")) == ["__init__.py", "__main__.py"]


def test_package_data_exists() -> None:
    for package, patterns in PROJECT["tool"]["setuptools"]["package-data"].items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        for pattern in patterns:
            assert list(folder.glob(pattern)), f"{package}: nothing matches {pattern!r}"


def test_version_is_told_once() -> None:
    import makerspace

    assert importlib.metadata.version("makerspace") == PROJECT["project"]["version"] == makerspace.__version__


def test_the_changelog_knows_the_version() -> None:
    assert f"## {PROJECT['project']['version']}" in (ROOT / "CHANGELOG.md").read_text()


def loaded_by(statement: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter holds after ``statement``."""
    code = f"{statement}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split("\n")[-2].split())


def test_import_loads_nothing_heavy() -> None:
    assert loaded_by("import makerspace") & set(HEAVY) == set()


def test_import_registers_every_family() -> None:
    listing = (
        "import makerspace, gymnasium; print(*sorted(i for i in gymnasium.registry if i.startswith('makerspace/')))"
    )
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=120)
    files = (ROOT / "envs" / "tasks").glob("*/[!_]*.py")
    assert done.stdout.split() == sorted(f"makerspace/{path.parent.name}.{path.stem}-v0" for path in files)


@pytest.mark.parametrize(
    "module",
    ["simulators.terminal.app", "simulators.cad.app", "envs.env", "envs.vector", "traces", "cli", "containers"],
)
def test_modules_load_no_heavy_library_until_used(module: str) -> None:
    allowed = {"typer", "rich"} if module == "cli" else set()
    assert loaded_by(f"import makerspace.{module}") & set(HEAVY) <= allowed


def test_import_costs_little_more_than_gymnasium() -> None:
    """What the package adds to ``import gymnasium`` is its own modules and pydantic's family; no clock is asked."""
    added = loaded_by("import makerspace") - loaded_by("import gymnasium")
    own = {name for name in added if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert own <= {
        "makerspace",
        "pydantic",
        "pydantic_core",
        "annotated_types",
        "typing_inspection",
        "docstring_parser",
    }


def test_a_wheel_holds_the_library_and_not_the_rest(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns(".*", "runs", "build", "dist", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, tmp_path / "source", ignore=ignored)
    subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)],
        cwd=tmp_path / "source",
        check=True,
        capture_output=True,
        timeout=300,
    )
    names = set((tmp_path / "names").read_text().split("\n"))
    assert {"makerspace/__init__.py", "makerspace/py.typed", "makerspace/envs/registration.py"} <= names
    outside = {name for name in names if name and not name.startswith(("makerspace/", "makerspace-"))}
    assert outside == set()
    assert not {
        name
        for name in names
        if name.startswith(("makerspace/tests", "makerspace/benchmarks", "makerspace/makerspace"))
    }


BUILD = """
import pathlib, sys, tempfile, zipfile
from setuptools import build_meta
out = pathlib.Path(sys.argv[1])
sys.argv = ["setup.py"]
wheel = build_meta.build_wheel(str(out))
(out / "names").write_text("\\n".join(zipfile.ZipFile(out / wheel).namelist()))
"""
