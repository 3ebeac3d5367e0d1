"""The runtimes that are present here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from makerspace.containers.runtimes import open_runtime
from makerspace.containers.session import RuntimeUnavailable

sys.path.insert(0, str(Path(__file__).parent))  # sandboxes import ``services`` from here
from watching import SERVICE

PROBE = "import sys; from makerspace.containers.namespaces import available; sys.exit(not available())"


@pytest.fixture(scope="session")
def kernel_allows_namespaces():
    return subprocess.run([sys.executable, "-c", PROBE], check=False).returncode == 0


@pytest.fixture(scope="module", params=["plain", "namespaces"])
def tier(request, kernel_allows_namespaces):
    if request.param == "namespaces" and not kernel_allows_namespaces:
        pytest.skip("the kernel lets this user build no namespaces")
    return request.param


@pytest.fixture(scope="module", params=["inline", "plain", "namespaces", "docker"])
def runtime(request, kernel_allows_namespaces):
    """Every runtime and tier."""
    if request.param == "namespaces" and not kernel_allows_namespaces:
        pytest.skip("the kernel lets this user build no namespaces")
    if request.param == "docker":
        runtime = request.getfixturevalue("containers")
    else:
        options = {} if request.param == "inline" else {"tier": request.param}
        runtime = open_runtime("inline" if request.param == "inline" else "process", **options)
    yield runtime
    runtime.close()


@pytest.fixture(scope="module")
def container_options():
    """Options with which the docker runtime can serve the services of these tests."""
    pytest.importorskip("docker", reason="the Docker SDK is not installed")
    from makerspace.containers.engine import engine
    from makerspace.containers.images import image_name

    image = image_name("terminal")
    try:
        engine().image(image)
    except RuntimeUnavailable as absent:
        pytest.skip(str(absent))
    return {"image": image, "code": (str(Path(__file__).parent),)}


@pytest.fixture(scope="module")
def containers(container_options):
    """The docker runtime."""
    runtime = open_runtime("docker", **container_options)
    yield runtime
    runtime.close()


@pytest.fixture(scope="module")
def processes(tier):
    """The process runtime in each of its tiers."""
    runtime = open_runtime("process", tier=tier)
    yield runtime
    runtime.close()


@pytest.fixture
def opened():
    """A function that opens a session and sees to its end."""
    sessions = []

    def open_session(runtime, target=SERVICE):
        sessions.append(runtime.open(target))
        return sessions[-1]

    yield open_session
    for session in sessions:
        session.close()
