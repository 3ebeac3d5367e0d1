"""Nobody gets out: the corpus of ``escapes.py`` in every runtime that promises to hold it, and without any."""

import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from escapes import CORPUS, LEFTOVERS, PRELUDE
from watching import ROGUE

from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import SandboxLost, SandboxTimeout

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the corpus names system calls by x86_64's numbers"
)


@pytest.fixture(scope="module")
def surroundings():
    """What there is to find: a file, sockets and a secret of the user who runs this."""
    os.environ["MAKERSPACE_TEST_SECRET"] = "canary"
    file, place, abstract = (
        Path.home() / f".canary-{os.getpid()}",
        f"{Path.home()}/.s{os.getpid()}",
        f"canary-{os.getpid()}",
    )
    file.write_text("canary")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as hidden,
    ):
        unix.bind(place)
        hidden.bind(f"\0{abstract}")
        for listening in (unix, hidden):
            listening.listen(100)
        yield {"CANARY": str(file), "PORT": str(tcp.getsockname()[1]), "PLACE": place, "ABSTRACT": abstract}
    file.unlink()
    Path(place).unlink()
    del os.environ["MAKERSPACE_TEST_SECRET"]


@pytest.fixture
def written(surroundings):
    """A function that fills in what an attempt's code leaves open."""

    def write(code):
        for name, value in surroundings.items():
            code = code.replace(name, value)
        return PRELUDE + code

    return write


@pytest.fixture(scope="module", params=["namespaces", "docker"])
def strong(request, kernel_allows_namespaces, surroundings):
    """The runtimes that promise to hold all of it."""
    if request.param == "docker":
        runtime = request.getfixturevalue("containers")
    elif kernel_allows_namespaces:
        runtime = ProcessRuntime(tier="namespaces")
    else:
        pytest.skip("the kernel lets this user build no namespaces")
    yield runtime
    runtime.close()


def held(runtime, opened, code):
    """Whether an attempt in a sandbox of its own was stopped."""
    session = opened(runtime, ROGUE)
    session.renew()
    try:
        return session.request("attempt", {"code": code}, deadline=10.0)["failed"] is not None
    except (SandboxLost, SandboxTimeout):
        return True


@pytest.mark.parametrize("attempt", CORPUS, ids=str)
def test_an_attempt_is_held(strong, opened, written, attempt):
    assert held(strong, opened, written(attempt.code))


@pytest.mark.parametrize("leftover", LEFTOVERS)
def test_nothing_reaches_the_next_episode(strong, opened, written, leftover):
    plant, look = LEFTOVERS[leftover]
    session = opened(strong, ROGUE)
    session.renew()
    session.request("attempt", {"code": written(plant)})
    session.renew()
    assert session.request("attempt", {"code": written(look)})["failed"] is not None
    assert held(strong, opened, written(look)), "nor a neighbour"


def test_there_are_a_hundred_attempts():
    assert len(CORPUS) + len(LEFTOVERS) >= 150


def test_the_attempts_would_succeed_without_protection(written):
    """The control: a corpus that fails everywhere would prove nothing."""
    if os.geteuid() != 0:
        pytest.skip("most of it takes root to succeed without protection")
    harmless = [attempt for attempt in CORPUS if not attempt.harmful]
    codes = json.dumps([written(attempt.code) for attempt in harmless])
    done = subprocess.run([sys.executable, "-c", CONTROL], input=codes, capture_output=True, text=True, check=True)
    failed = [str(attempt) for attempt, how in zip(harmless, json.loads(done.stdout), strict=True) if how]
    assert len(harmless) - len(failed) >= 80, failed


CONTROL = """
import ctypes, json, os, signal, sys, tempfile
from pathlib import Path
results = []
for code in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os.chdir(tempfile.mkdtemp())
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        exec(code, {"os": os, "ctypes": ctypes, "Path": Path})
        os._exit(0)
    results.append(os.waitpid(child, 0)[1])
print(json.dumps(results))
"""
