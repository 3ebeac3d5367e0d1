"""Sandboxes in containers: bad days, and nothing left over."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from watching import ROGUE, SERVICE, wait_until

from makerspace.containers.session import RuntimeUnavailable, SandboxCapacity, SandboxLost, SandboxTimeout

docker_runtime = pytest.importorskip("makerspace.containers.docker", reason="the Docker SDK is not installed")
engine = pytest.importorskip("makerspace.containers.engine", reason="the Docker SDK is not installed")


@pytest.fixture
def own_runtime(container_options):
    """A function that makes a runtime of its own, and sees to its end."""
    runtimes = []

    def make(**options):
        runtimes.append(docker_runtime.DockerRuntime(**{**container_options, **options}))
        return runtimes[-1]

    yield make
    for runtime in runtimes:
        runtime.close()


def container_of(session):
    return session._zygote._body._id


def ours():
    """The ids of this process's containers."""
    return {found.id for found in engine.engine().find() if found.labels["makerspace.pid"] == str(os.getpid())}


# -- how it is locked up -----------------------------------------------------------------------------


def test_the_container_has_nothing_that_it_does_not_need(containers, opened):
    session = opened(containers)
    session.renew()
    config = engine.engine().api.inspect_container(container_of(session))
    host = config["HostConfig"]
    assert config["Config"]["User"] == "1000:1000"
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert host["ReadonlyRootfs"]
    assert host["NetworkMode"] == "none"
    assert host["PidsLimit"] == 512
    assert host["Memory"] == host["MemorySwap"] == 4 << 30
    assert host["LogConfig"]["Type"] == "none"
    assert "no-new-privileges" in host["SecurityOpt"]
    profile = next(json.loads(text.partition("=")[2]) for text in host["SecurityOpt"] if text.startswith("seccomp="))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {bind.split(":")[1] for bind in host["Binds"]} == {"/run/makerspace", "/code/0"}
    assert [bind.rsplit(":", 1)[1] for bind in host["Binds"]] == ["rw", "ro"]


def test_the_sandbox_has_no_privileges(containers, opened):
    session = opened(containers, ROGUE)
    code = """
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
assert all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")), status
assert (status["NoNewPrivs"], status["Uid"].split()[0]) == ("1", "1000"), status
assert status["Seccomp"] == "2", status
assert [p for p in os.listdir("/proc") if p.isdigit()] == ["1"]
assert os.listdir("/run") == []
"""
    assert session.request("attempt", {"code": code}) == {"failed": None}


def test_the_trace_can_tell_where_it_ran(containers, opened):
    session = opened(containers)
    session.renew()
    assert session.facts["tier"] == "namespaces"
    assert session.facts["digest"].startswith("sha256:")


# -- bad days ----------------------------------------------------------------------------------------


def test_a_container_that_is_killed_in_the_middle_of_a_call_is_replaced(own_runtime, opened):
    session = opened(own_runtime(), ROGUE)
    session.renew()
    session.send("hang", {})
    engine.engine().api.kill(container_of(session))
    with pytest.raises(SandboxLost):
        session.receive(deadline=100)
    session.renew()
    assert session.request("add") == {"count": 1}


def test_a_container_that_is_frozen_is_replaced(own_runtime, opened):
    session = opened(own_runtime(deadline=1.0), ROGUE)
    session.renew()
    frozen = container_of(session)
    engine.engine().api.pause(frozen)
    with pytest.raises(SandboxTimeout):
        session.request("add")
    session.renew()
    assert session.request("add") == {"count": 1}
    assert container_of(session) != frozen


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes; ctypes.string_at(0)",
        "os.kill(os.getpid(), 9)",
        "os.kill(os.getpid(), 19) or __import__('time').sleep(1000)",
        "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(1000)",
        "[os.fork() for _ in range(1000)]",
        "x = [bytearray(1 << 28) for _ in range(100)]",
        "while True: os.write(1, b'x' * 65536)",
        "f = open('full', 'wb')\nwhile True: f.write(bytes(1 << 20))",
        "for i in range(10_000_000): open(f'file{i}', 'w').close()",
        "for i in range(10_000): open(f'file{i}', 'w').close()",
        "for i in range(2000): os.mkdir('deep'); os.chdir('deep')",
        "os.fork() or (os.setsid(), os.fork() or __import__('time').sleep(1000))",
        "for _ in range(200): os.fork() or os._exit(0)",
        "import sys; sys.setrecursionlimit(10**9); f = lambda: f(); f()",
    ],
)
def test_whatever_an_episode_does_the_next_one_is_clean_and_the_neighbour_unharmed(containers, opened, code):
    session, neighbour = opened(containers, ROGUE), opened(containers, ROGUE)
    neighbour.request("add")
    session.renew()
    before = session.request("look")
    with suppress(SandboxLost, SandboxTimeout):
        session.request("attempt", {"code": code}, deadline=3.0)
    assert neighbour.request("add") == {"count": 2}
    session.renew()
    assert session.request("look") == before


def test_there_is_an_end_to_the_room_and_it_comes_back(own_runtime, opened):
    runtime, sessions = own_runtime(bounds={"pids": 12}), []

    def fill():
        for _ in range(20):
            sessions.append(opened(runtime))
            sessions[-1].renew()

    with pytest.raises(SandboxCapacity, match="no room"):
        fill()
    assert len(sessions) > 2
    for session in sessions[:-1]:
        assert session.request("add") == {"count": 1}
    sessions[0].close()
    wait_until(lambda: comes_up(sessions[-1]))


def comes_up(session):
    try:
        session.renew()
    except SandboxCapacity:
        return False
    return session.request("add") == {"count": 1}


def test_sixty_four_may_start_at_once(own_runtime, opened):
    runtime, answers = own_runtime(containers=2), []
    sessions = [opened(runtime) for _ in range(64)]

    def work(session):
        session.renew()
        answers.append(session.request("add")["count"])

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 64
    for session in sessions:
        session.renew()
    assert len({container_of(session) for session in sessions}) == 2


def test_a_worn_container_is_replaced_without_a_pause(own_runtime, opened):
    runtime = own_runtime(episodes=5)
    session, seen = opened(runtime), []
    for _ in range(40):
        session.renew()
        assert session.request("add") == {"count": 1}
        seen.append(container_of(session))
        time.sleep(0.05)
    assert 1 < len(set(seen)) <= 9
    assert len(ours() & set(seen)) <= 2


def test_two_trainers_share_an_engine(containers, container_options, opened):
    session = opened(containers)
    session.request("add")
    other = start_trainer(container_options)
    kill(other)
    assert session.request("add") == {"count": 2}
    session.renew()


def test_the_engine_may_be_absent_while_episodes_go_on(containers, opened, monkeypatch):
    session = opened(containers)
    session.renew()
    monkeypatch.setattr(engine.engine(), "api", None)
    for _ in range(5):
        session.renew()
        assert session.request("add") == {"count": 1}


def test_clocks_that_jump_change_nothing(containers, opened, monkeypatch):
    session = opened(containers)
    for now in (0.0, 4e9, 1e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        session.renew()
        assert session.request("add") == {"count": 1}


# -- nothing is left over ----------------------------------------------------------------------------

TRAINER = """
import sys
from makerspace.containers.docker import DockerRuntime
from makerspace.containers.session import Target
session = DockerRuntime(image=sys.argv[1], code=[sys.argv[2]]).open(Target("services:Rogue"))
print("begin", flush=True)
while True:
    session.renew()
    session.request("add")
    print("ready", flush=True)
"""


def start_trainer(options, word=b"ready\n"):
    command = [sys.executable, "-c", TRAINER, options["image"], options["code"][0]]
    trainer = subprocess.Popen(command, stdout=subprocess.PIPE)
    while trainer.stdout.readline() != word:
        assert trainer.poll() is None
    return trainer


def kill(trainer):
    trainer.kill()
    trainer.communicate()


def left_by(trainer):
    found = [one for one in engine.engine().find() if one.labels["makerspace.pid"] == str(trainer.pid)]
    return [one.id for one in found if one.state != "removing"]


@pytest.mark.parametrize("moment", range(10))
def test_a_trainer_killed_at_any_moment_leaves_no_container(container_options, moment):
    trainer = start_trainer(container_options, b"begin\n")
    time.sleep(random.Random(moment).uniform(0.0, 1.5))
    kill(trainer)
    time.sleep(0.3)
    wait_until(lambda: not left_by(trainer))


def test_a_created_container_that_was_never_started_is_removed(container_options):
    code = TRAINER.replace('print("begin", flush=True)', "").replace(
        "while True:",
        """
from makerspace.containers import engine
engine.engine().api.start = lambda made: (print("begin", flush=True), __import__("time").sleep(1000))
while True:""",
    )
    command = [sys.executable, "-c", code, container_options["image"], container_options["code"][0]]
    trainer = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert trainer.stdout.readline() == b"begin\n"
    assert left_by(trainer)
    kill(trainer)
    wait_until(lambda: not left_by(trainer))


def test_what_a_dead_owner_left_is_found_and_removed(container_options):
    from makerspace.containers.reaper import orphans, remove

    labels = {**engine.ownership("0" * 12, "test"), "makerspace.pid": "1", "makerspace.born": "-1"}
    made = engine.engine().api.create_container(container_options["image"], ["true"], labels=labels)["Id"]
    assert made in [found.id for found in orphans()]
    remove([found for found in orphans() if found.id == made])
    assert made not in [found.id for found in engine.engine().find()]


def test_resets_leak_nothing(own_runtime, opened):
    session = opened(own_runtime())
    session.renew()

    def counts():
        pids = engine.engine().api.top(container_of(session))["Processes"]
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), len(pids)

    wait_until(lambda: counts()[2] >= 4)
    before = counts()
    for _ in range(300):
        session.renew()
        session.request("add")
    wait_until(lambda: counts() == before)


def test_closing_removes_containers_and_directories(own_runtime, opened):
    runtime = own_runtime()
    session = opened(runtime)
    session.renew()
    made, home = container_of(session), session._zygote._body._home
    assert home.exists()
    runtime.close()
    assert made not in ours()
    assert not home.exists()


# -- what is missing is said -------------------------------------------------------------------------


def test_a_missing_image_is_named_with_what_to_do(own_runtime, opened):
    with pytest.raises(RuntimeUnavailable, match=r"no image 'makerspace/none:9'.*sandbox build none"):
        opened(own_runtime(image="makerspace/none:9")).renew()


def test_an_image_without_the_library_tells_what_went_wrong(own_runtime, opened, monkeypatch):
    runtime = own_runtime()
    monkeypatch.setattr(docker_runtime, "__package__", "nosuchpackage")
    with pytest.raises(SandboxLost, match="nosuchpackage"):
        opened(runtime).renew()


def test_an_absent_daemon_is_said(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setattr(engine, "_engines", {})
    with pytest.raises(RuntimeUnavailable, match=r"no Docker daemon answers at unix:///nowhere/docker.sock"):
        docker_runtime.DockerRuntime()


# -- containers that somebody else has started --------------------------------------------------------


@pytest.fixture
def running_loops(tmp_path):
    """Two host loops that listen, as ``compose.yaml`` starts them, without containers."""
    program = [sys.executable, "-m", "makerspace.containers.host", "--forever", "--listen"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    loops = [subprocess.Popen([*program, f"{tmp_path}/test-{n}/control"], env=environment) for n in range(2)]
    wait_until(lambda: len(list(tmp_path.glob("test-*/control"))) == 2)
    yield tmp_path
    for loop in loops:
        loop.send_signal(signal.SIGTERM)
        loop.wait()


def guest(place, **options):
    return docker_runtime.DockerRuntime(sandboxes=place, **options)


def in_test_world(target):
    return type(target)(target.factory, target.arguments, "test")


def test_running_loops_serve_without_an_engine(running_loops, opened):
    runtime = guest(running_loops)
    sessions = [opened(runtime, in_test_world(SERVICE)) for _ in range(4)]

    def where_they_run():
        for session in sessions:
            session.renew()
            assert session.request("add") == {"count": 1}
        return {session.facts["container"] for session in sessions}

    wait_until(lambda: where_they_run() == {"test-0", "test-1"})
    runtime.close()


def test_a_trainer_may_come_again(running_loops, opened):
    for _ in range(3):
        runtime = guest(running_loops)
        assert opened(runtime, in_test_world(SERVICE)).request("add") == {"count": 1}
        runtime.close()


def test_loops_that_are_not_there_are_asked_for(tmp_path, opened):
    with pytest.raises(RuntimeUnavailable, match="docker compose up"):
        opened(guest(tmp_path), in_test_world(SERVICE)).renew()
