"""The images and the set-up of Compose: locked up, alike, and true to their source."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from makerspace import __version__
from makerspace.containers import hardening, images
from makerspace.containers.body import FIXED

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose.yaml"


def dockerfile(world):
    return (images.IMAGES / world / "Dockerfile").read_text()


def final_stage(world):
    return dockerfile(world).rpartition("\nFROM ")[2]


@pytest.mark.parametrize("world", images.worlds())
def test_an_image_runs_as_nobody_in_particular_and_knows_fixed_names(world):
    final = final_stage(world)
    assert f"USER {hardening.USER}" in final
    assert "chmod a-s" in final
    names = dict(re.findall(r"([A-Z_]+)=(\S+)", final))
    assert {name: value for name, value in FIXED.items() if name != "HOME"}.items() <= names.items()


@pytest.mark.parametrize("world", images.worlds())
def test_a_dockerfile_needs_no_buildkit(world):
    assert not re.search(r"--mount|<<|^# syntax|--chmod|--link", dockerfile(world), re.MULTILINE)


@pytest.mark.parametrize("world", images.worlds())
def test_everything_that_is_installed_is_pinned_by_its_hash(world):
    text = (images.IMAGES / "requirements" / f"{world}.txt").read_text()
    wanted = [block for block in re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE) if "==" in block]
    assert wanted
    assert [block.split()[0] for block in wanted if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)] == []


def test_images_differ_in_what_they_hold_and_not_in_how_they_are_locked_up():
    def skeleton(world):
        return re.sub(r"LABEL \S+|^COPY .*\n", "", final_stage(world).replace(world, "WORLD"), flags=re.MULTILINE)

    assert skeleton("cad") == skeleton("terminal")


def test_the_digest_of_the_code_follows_the_code(tmp_path):
    def digest(source):
        root = tmp_path / source
        (root / "containers").mkdir(parents=True)
        (root / "__init__.py").touch()
        (root / "containers" / "host.py").write_text(source)
        return images.code_digest(root)

    assert digest("1") != digest("2")
    assert images.code_digest() == images.code_digest(ROOT)


@pytest.fixture(scope="module")
def services():
    """What Compose understands."""
    program = ["docker", "compose"] if _answers(["docker", "compose", "version"]) else ["docker-compose"]
    if not _answers([*program, "version"]):
        pytest.skip("neither `docker compose` nor `docker-compose` is here")
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    shown = subprocess.run([*program, "-f", COMPOSE, "config"], capture_output=True, text=True, check=True, cwd=ROOT)
    return yaml.safe_load(shown.stdout)["services"]


def _answers(command):
    return shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.parametrize("name", ["cad", "terminal", "trainer"])
def test_compose_locks_every_service_up(services, name):
    service = services[name]
    assert service["user"] == hardening.USER
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["network_mode"] == "none"
    assert service["ipc"] == "private"
    assert service["mem_limit"] == service["memswap_limit"]
    assert service["pids_limit"]
    assert service["ulimits"]["core"] == 0
    assert any(option.startswith("no-new-privileges") for option in service["security_opt"])
    assert service.keys().isdisjoint({"privileged", "ports", "cap_add", "devices"})
    assert "docker.sock" not in json.dumps(service)


@pytest.mark.parametrize("name", ["cad", "terminal"])
def test_compose_locks_sandboxes_up_as_the_runtime_does(services, name):
    options = [re.split("[:=]", option, maxsplit=1) for option in services[name]["security_opt"]]
    profile = dict(option for option in options if len(option) == 2)["seccomp"]
    assert (ROOT / profile).samefile(hardening.PROFILE) or json.loads(profile)
    scratch = {place: options.format(scratch=512) for place, options in hardening.SCRATCH.items()}
    assert dict(line.split(":") for line in services[name]["tmpfs"]) == scratch
    assert f"{name}-%h" in services[name]["command"][1]


def test_compose_names_the_images_of_this_version():
    named = re.findall(r"image: makerspace/(\w+):(\S+)", COMPOSE.read_text())
    assert dict(named) == dict.fromkeys(images.worlds(), __version__)


@pytest.fixture(scope="module")
def built():
    """The image of ``terminal``, built now."""
    base = os.environ.get("MAKERSPACE_BASE_IMAGE")
    if base is None:
        pytest.skip("MAKERSPACE_BASE_IMAGE does not name an image to build on")
    pytest.importorskip("docker", reason="the Docker SDK is not installed")
    return images.build("terminal", base_image=base, say=lambda _: None)


def test_an_image_that_was_built_holds_what_it_should(built):
    script = (
        "id -u; find / -xdev -type f -perm /6000 2>/dev/null | wc -l; "
        "find / -xdev -type d -path '*cache/pip' 2>/dev/null | wc -l; "
        "python3 -P -c 'import makerspace, makerspace.simulators.terminal.app; print(makerspace.__version__)'"
    )
    command = [
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        "--read-only",
        "--entrypoint",
        "sh",
        built.id,
        "-c",
        script,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["1000", "0", "0", __version__]
    assert built.size < 300e6
