"""What a sandbox gives up last, and that ordinary work does not notice."""

import errno
import os
import shutil
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from watching import ROGUE

from makerspace.containers import confine, kernel, landlock, limits, sources, syscalls
from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import Target


@pytest.fixture
def sandbox(processes, opened):
    session = opened(processes, ROGUE)
    session.renew()
    return session


@pytest.fixture
def forked():
    """A function that runs another in a fork and returns the number of the error that it raised, or 0."""

    def run(act):
        child = os.fork()
        if child == 0:
            status = 99
            try:
                act()
                status = 0
            except OSError as error:
                status = error.errno or 98
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run


def does(session, code):
    answer = session.request("attempt", {"code": code})
    assert answer == {"failed": None}


def fails(session, code, kind="PermissionError"):
    assert session.request("attempt", {"code": code})["failed"] == kind


# -- what is given up --------------------------------------------------------------------------------


def test_the_present_layers_are_reported():
    layers = {layer.name: layer for layer in confine.layers()}
    assert set(layers) == {"system-call filter", "Landlock", "process limit"}
    assert all(layer.note for layer in layers.values())


def test_a_layer_that_fails_says_why(monkeypatch):
    def absent(*_, **__):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(landlock, "abi", absent)
    monkeypatch.setattr(syscalls, "program", absent)
    layers = {layer.name: layer for layer in confine.layers()}
    assert not layers["Landlock"].works
    assert "Linux 5.13" in layers["Landlock"].note
    assert not layers["system-call filter"].works
    assert "libseccomp2" in layers["system-call filter"].note


def test_a_sandbox_without_filter_and_landlock_still_works(monkeypatch, forked, tmp_path):
    def absent(*_, **__):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(landlock, "abi", absent)
    monkeypatch.setattr(syscalls, "program", absent)
    assert forked(lambda: confine.confine("plain", str(tmp_path))) == 0


def test_an_older_kernel_is_asked_for_what_it_knows(forked, tmp_path):
    (tmp_path / "in").mkdir()

    def act(version):
        kernel.drop_privileges()
        landlock.restrict([(str(tmp_path / "in"), landlock.WRITE)], version)
        (tmp_path / "in" / "file").touch()
        (tmp_path / "file").touch()

    for version in range(1, landlock.abi() + 1):
        assert forked(lambda version=version: act(version)) == errno.EACCES
    assert (tmp_path / "in" / "file").exists()
    assert not (tmp_path / "file").exists()


def test_capabilities_are_gone(sandbox):
    status = Path(f"/proc/{sandbox.pid}/status").read_text()
    assert f"CapEff:\t{'0' * 16}\n" in status
    assert f"CapPrm:\t{'0' * 16}\n" in status
    assert "NoNewPrivs:\t1\n" in status
    assert "Seccomp:\t2\n" in status


@pytest.mark.parametrize("call", ["unshare", "ptrace", "mount", "bpf", "keyctl", "io_uring_setup", "setns"])
def test_a_system_call_is_denied(sandbox, call):
    number = syscalls.library().seccomp_syscall_resolve_name(call.encode())
    code = f"assert ctypes.CDLL(None, use_errno=True).syscall({number}, 0, 0, 0, 0, 0) == -1"
    code += "; assert ctypes.get_errno() == 1"
    does(sandbox, code)


def test_no_call_of_the_list_is_unknown_to_every_architecture():
    """A name that is spelled wrong would silently protect nothing."""
    library, names = syscalls.library(), " ".join(syscalls.DENIED.values()).split()
    unknown = [name for name in names if library.seccomp_syscall_resolve_name(name.encode()) == -1]
    assert set(unknown) <= set(syscalls.NUMBERS)


def test_home_cannot_be_read(sandbox):
    secret = Path.home() / f".makerspace-test-{os.getpid()}"
    secret.write_text("secret")
    try:
        answer = sandbox.request("attempt", {"code": f"open({str(secret)!r})"})
        assert answer["failed"] in ("PermissionError", "FileNotFoundError")
    finally:
        secret.unlink()


def test_what_lies_beside_code_cannot_be_read(sandbox):
    """Of a checkout the modules may be read, not its history, its traces, its settings."""
    root = Path(confine.__file__).parents[1]
    does(sandbox, f"open({str(root / 'containers' / 'frames.py')!r}).close()")
    fails(sandbox, f"open({str(root / 'pyproject.toml')!r})")
    fails(sandbox, f"os.listdir({str(root)!r})")


def test_a_neighbour_cannot_be_read(sandbox, processes, opened):
    other = opened(processes, ROGUE)
    other.renew()
    does(other, "Path('mine').write_text('secret')")
    place = Path(f"/proc/{other.pid}/cwd").resolve()
    answer = sandbox.request("attempt", {"code": f"print(open('{place}/mine').read())"})
    assert answer["failed"] in ("PermissionError", "FileNotFoundError")


def test_the_trainer_keeps_its_limits(sandbox):
    before = Path("/proc/self/limits").read_text()
    code = f"import resource; resource.prlimit({os.getpid()}, resource.RLIMIT_CPU, (0, 0))"
    assert sandbox.request("attempt", {"code": code})["failed"] in ("PermissionError", "ProcessLookupError")
    assert Path("/proc/self/limits").read_text() == before


def test_a_socket_anywhere_cannot_be_reached(processes, opened):
    """Landlock does not cover them yet: they must be out of sight, or sockets out of reach."""
    place = Path(f"/makerspace-test-{os.getpid()}")
    try:
        place.mkdir()
    except OSError:
        pytest.skip("this user may make no folder in the root")
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{place}/socket")
            server.listen()
            code = f"import socket; socket.socket(socket.AF_UNIX).connect('{place}/socket')"
            answer = opened(ProcessRuntime(tier=processes.tier), ROGUE).request("attempt", {"code": code})
            assert answer["failed"] in ("OSError", "FileNotFoundError")
    finally:
        shutil.rmtree(place)


def test_limits_are_low_and_final(sandbox):
    code = f"""
import resource
assert resource.getrlimit(resource.RLIMIT_NOFILE) == ({limits.DESCRIPTORS},) * 2
assert resource.getrlimit(resource.RLIMIT_FSIZE) == ({limits.FILE},) * 2
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
"""
    fails(sandbox, code, "ValueError")


# -- what goes on working ----------------------------------------------------------------------------

WORK = {
    "programs": "import subprocess; assert subprocess.check_output('echo hi | tr a-z A-Z', shell=True) == b'HI\\n'",
    "python": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import sqlite3, numpy'], check=True)",
    "threads": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
    "processes": "import multiprocessing as m; a, b = m.Pipe(); p = m.Process(target=b.send, args=(3,)); p.start(); "
    "assert a.recv() == 3; p.join()",
    "databases": "import sqlite3; d = sqlite3.connect('d'); d.execute('create table t (x)'); d.commit()",
    "temporary files": "import tempfile; tempfile.TemporaryFile().write(b'x'); tempfile.mkdtemp()",
    "event loops": "import asyncio; asyncio.run(asyncio.sleep(0))",
    "signals to children": "import subprocess; p = subprocess.Popen(['sleep', '100']); p.kill(); assert p.wait() == -9",
    "late imports": "import xml.dom.minidom, makerspace.traces.reader, gymnasium",
    "names of users": "import pwd; pwd.getpwuid(0)",
    "time zones": "import zoneinfo, time; time.tzset()",
    "moving files": "os.makedirs('a/b'); Path('a/x').touch(); os.rename('a/x', 'a/b/x'); os.link('a/b/x', 'y')",
    "own programs": "Path('run').write_text('#!/bin/sh\\nexit 0'); os.chmod('run', 0o755); import subprocess; "
    "subprocess.run(['./run'], check=True)",
}


@pytest.mark.parametrize("work", WORK)
def test_ordinary_work_goes_on(sandbox, work):
    does(sandbox, WORK[work])


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("git", "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log"),
        ("gcc", "echo 'int main(){return 0;}' > a.c && gcc a.c -o a && ./a"),
        ("node", "node -e 'process.exit(0)'"),
        ("perl", "perl -e 'fork; exit 0'"),
    ],
)
def test_a_program_works(sandbox, program, command):
    where = shutil.which(program)
    if where is None or not where.startswith("/usr/"):
        pytest.skip(f"this machine has no {program} of its system")
    does(sandbox, f"import subprocess; subprocess.run({command!r}, shell=True, check=True)")


def test_opencascade_works(processes, opened):
    pytest.importorskip("cadquery")
    session = opened(processes, Target("services:Solids"))
    assert session.request("drill", {"diameter": 4})["faces"] == 7
    assert session.request("drill", {"diameter": 2})["faces"] == 7


def test_a_masked_proc_keeps_the_namespaces(container_options, opened, monkeypatch):
    """As in containers that Compose starts without unmasking it."""
    docker = pytest.importorskip("makerspace.containers.docker", reason="the Docker SDK is not installed")
    monkeypatch.setattr(docker, "host_config", partial(docker.host_config, own_proc=False))
    runtime = docker.DockerRuntime(**container_options)
    try:
        session = opened(runtime, ROGUE)
        for _ in range(3):
            session.renew()
            assert session.request("add") == {"count": 1}
        assert session.tier == "namespaces"
        does(session, "assert os.getpid() == 1")
        fails(session, "open('/proc/1/environ', 'rb').read()")
    finally:
        runtime.close()


# -- where code lies ---------------------------------------------------------------------------------

LAZY = """
class Lazy:
    def warm(self):
        pass

    def handle(self, operation, payload):
        import lazy_package.part

        return {"answer": lazy_package.part.ANSWER}
"""


def test_code_in_a_home_can_be_imported_and_nothing_beside_it(processes, opened, monkeypatch):
    folder = Path.home() / f"makerspace-test-{os.getpid()}"
    (folder / "lazy_package").mkdir(parents=True)
    try:
        (folder / "lazy_service_at_home.py").write_text(LAZY)
        (folder / "lazy_package" / "__init__.py").touch()
        (folder / "lazy_package" / "part.py").write_text("ANSWER = 42")
        (folder / ".env").write_text("TOKEN=secret")
        monkeypatch.syspath_prepend(folder)
        session = opened(ProcessRuntime(tier=processes.tier), Target("lazy_service_at_home:Lazy"))
        assert session.request("ask") == {"answer": 42}
        assert not any(path.endswith(".env") for path in sources.readable())
        assert str(folder) not in sources.readable()
    finally:
        shutil.rmtree(folder)


def test_a_home_on_the_path_is_not_granted_whole(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path.home()), "/"])
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{Path.home()}:/:")
    assert not {str(Path.home()), "/"} & {*sources.readable(), *sources.interpreter()}


def test_editable_projects_are_found():
    listed = subprocess.run(
        [sys.executable, "-c", "from makerspace.containers import sources; print(*sources.directories())"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert str(Path(confine.__file__).parents[1]) in listed.stdout.split()
