"""Sandboxes in processes: they fail alone, they leave nothing, and they start clean."""

import importlib.util
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from watching import ROGUE, SERVICE, descendants, parents, wait_until

from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import SandboxFault, SandboxLost, SandboxTimeout, Target


@pytest.fixture
def own_runtime(tier):
    """A function that makes a runtime of its own, and sees to its end."""
    runtimes = []

    def make(**options):
        runtimes.append(ProcessRuntime(tier=tier, **options))
        return runtimes[-1]

    yield make
    for runtime in runtimes:
        runtime.close()


def lives(pid):
    return pid in parents()


def entries(directory):
    return sum(1 for _ in Path(directory).iterdir())


# -- a sandbox fails alone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "payload", "fate"),
    [
        ("crash", {}, "killed by SIGSEGV"),
        ("vanish", {"status": 0}, "ended with status 0"),
        ("vanish", {"status": 3}, "ended with status 3"),
        ("babble", {"text": "00" * 16}, "protocol"),
        ("babble", {"text": b"HTTP/1.1 200 OK\r\n".hex()}, "protocol"),
        ("hang_up", {}, "connection was closed"),
    ],
)
def test_a_broken_sandbox_is_lost_and_the_next_works(processes, opened, operation, payload, fate):
    session, neighbour = opened(processes, ROGUE), opened(processes, ROGUE)
    neighbour.request("add")
    session.renew()
    with pytest.raises(SandboxLost, match=fate):
        session.request(operation, payload)
    for use in (lambda: session.request("add"), session.receive):
        with pytest.raises(SandboxLost, match=fate):
            use()
    session.renew()
    assert session.request("add") == {"count": 1}
    assert neighbour.request("add") == {"count": 2}, "the neighbour noticed nothing"


@pytest.mark.parametrize("number", [0, 2, 2**32 - 1])
def test_a_reply_to_another_request_is_not_accepted(processes, opened, number):
    session = opened(processes, ROGUE)
    session.renew()
    false_reply = b"MKSP\x02" + number.to_bytes(4, "big") + (2).to_bytes(4, "big") + b"{}"
    with pytest.raises(SandboxLost, match="to request 1"):
        session.request("babble", {"text": false_reply.hex()})


def test_a_reply_that_nobody_asked_for_is_not_accepted(processes, opened):
    """The true reply to request 1 stays in the stream after the forged one was taken for it."""
    session = opened(processes, ROGUE)
    session.renew()
    forged = b"MKSP\x02" + (1).to_bytes(4, "big") + (2).to_bytes(4, "big") + b"{}"

    def ask_twice():
        session.request("babble", {"text": forged.hex()})
        session.request("add")

    with pytest.raises(SandboxLost):
        ask_twice()


def test_a_killed_sandbox_is_noticed_at_once(processes, opened):
    session = opened(processes, ROGUE)
    session.renew()
    session.send("hang", {})
    os.kill(session.pid, signal.SIGKILL)
    with pytest.raises(SandboxLost, match="killed by SIGKILL"):
        session.receive(deadline=1000)


@pytest.mark.parametrize("operation", ["hang", "spin"])
def test_a_hung_call_is_killed_at_its_deadline(processes, opened, operation):
    session = opened(processes, ROGUE)
    session.renew()
    pid = session.pid
    with pytest.raises(SandboxTimeout) as caught:
        session.request(operation, deadline=0.2)
    assert isinstance(caught.value, TimeoutError)
    wait_until(lambda: not lives(pid))
    session.renew()
    assert session.request("add") == {"count": 1}


def test_a_stopped_sandbox_is_killed_at_the_deadline_of_its_runtime(own_runtime, opened):
    session = opened(own_runtime(deadline=0.5), ROGUE)
    session.renew()
    pid = session.pid
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(SandboxTimeout):
        session.request("add")
    wait_until(lambda: not lives(pid))


def test_the_deadline_counts_from_the_sending(processes, opened):
    session = opened(processes, ROGUE)
    session.renew()
    session.send("hang", {})
    time.sleep(0.3)
    with pytest.raises(SandboxTimeout):
        session.receive(deadline=0.25)


def test_a_request_that_is_not_read_ends_at_the_deadline(own_runtime, opened):
    session = opened(own_runtime(deadline=0.5), ROGUE)
    session.renew()
    os.kill(session.pid, signal.SIGSTOP)
    with pytest.raises(SandboxTimeout):
        session.send("echo", {"text": "x" * 10_000_000})


def test_a_memory_hog_fails_alone(own_runtime, opened):
    session = opened(own_runtime(memory=1 << 30), ROGUE)
    with pytest.raises((SandboxFault, SandboxLost), match=r"MemoryError|SIGKILL"):
        session.request("hog", {"size": 3 << 30})
    session.renew()
    assert session.request("hog", {"size": 1 << 20}) == {"held": 1 << 20}


def test_output_that_nobody_reads_stops_nothing(processes, opened):
    session = opened(processes, ROGUE)
    session.request("shout", {"size": 1 << 20})
    assert session.request("add") == {"count": 1}


def test_processes_of_an_episode_end_with_it(processes, opened):
    session = opened(processes, ROGUE)
    session.renew()
    below = parents()[session.pid]
    session.request("start_processes", {"count": 30})
    brood = descendants(session.pid)
    assert len(brood) >= 30
    session.renew()
    wait_until(lambda: not brood & parents().keys())
    assert lives(below)
    assert session.request("add") == {"count": 1}


def test_readiness_can_be_waited_for(processes, opened):
    session = opened(processes, ROGUE)
    session.renew()
    session.send("slow", {"seconds": 0.2})
    assert select.select([session.fileno()], [], [], 0)[0] == []
    assert select.select([session.fileno()], [], [], 30)[0]
    assert session.receive() == {"done": True}
    session.close()
    assert session.fileno() is None


# -- the warmed parent -------------------------------------------------------------------------------


def test_a_dead_parent_is_replaced(processes, opened):
    session = opened(processes, ROGUE)
    session.request("add")
    os.kill(parents()[session.pid], signal.SIGKILL)
    with pytest.raises(SandboxLost):
        session.request("slow", {"seconds": 60})
    session.renew()
    assert session.request("add") == {"count": 1}


def test_a_parent_with_threads_refuses_to_fork(processes, opened):
    with pytest.raises(SandboxFault, match="has 2 threads"):
        opened(processes, Target("services:Threaded")).renew()


@pytest.mark.parametrize("refusals", [1, 5])
def test_refused_forks_are_tried_again(processes, opened, refusals):
    session = opened(processes, Target("services:Unforkable", {"refusals": refusals}))
    for _ in range(3):
        session.renew()
        assert session.request("add") == {"count": 1}


def test_a_sandbox_that_never_comes_up_is_lost_with_its_fate(processes, opened):
    with pytest.raises(SandboxLost, match=r"did not come up.*ended with status 7"):
        opened(processes, Target("services:Stillborn")).renew()


def test_killed_spares_are_replaced(processes, opened):
    session = opened(processes)
    session.renew()
    for _ in range(5):
        mother = parents()[session.pid]
        wait_until(lambda mother=mother: len(descendants(mother)) == 2)
        (spare,) = descendants(mother) - {session.pid}
        os.kill(spare, signal.SIGKILL)
        wait_until(lambda spare=spare: not lives(spare))
        session.renew()
        assert session.request("add") == {"count": 1}


def test_sessions_of_one_target_share_a_parent(processes, opened):
    sessions = [opened(processes) for _ in range(3)]
    for session in sessions:
        session.renew()
    assert len({parents()[session.pid] for session in sessions}) == 1


def test_threads_may_use_their_own_sessions(processes, opened):
    sessions, counts = [opened(processes) for _ in range(4)], []

    def work(session):
        for _ in range(5):
            session.renew()
            counts.append(session.request("add")["count"])

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1] * 20


# -- a renewed sandbox is clean ----------------------------------------------------------------------


def test_an_episode_leaves_no_trace_in_the_next(processes, opened):
    session = opened(processes, ROGUE)
    session.renew()
    before = session.request("look")
    for _ in range(3):
        session.renew()
        session.request("dirty")
        assert session.request("look") != before
        session.renew()
        assert session.request("look") == before


def test_all_temporary_files_go_to_the_workspace(processes, opened):
    code = "import tempfile; assert tempfile.gettempdir() == os.environ['TMPDIR'] == os.environ['HOME'] == os.getcwd()"
    assert opened(processes, ROGUE).request("attempt", {"code": code}) == {"failed": None}


def test_the_environment_is_plain(processes, opened, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    processes.close()
    environment = opened(processes, ROGUE).request("look")["environment"]
    assert environment["PYTHONHASHSEED"] == "0"
    assert environment["LC_ALL"] == "C.UTF-8"
    assert environment["OMP_NUM_THREADS"] == environment["OPENBLAS_NUM_THREADS"] == "1"
    assert "SECRET_TOKEN" not in environment


def test_a_sandbox_holds_one_connection_only(processes, opened):
    sessions = [opened(processes, ROGUE) for _ in range(3)]
    for session in sessions:
        session.renew()
    held = [str(path.readlink()) for path in Path(f"/proc/{sessions[-1].pid}/fd").iterdir()]
    assert sorted(name.split(":")[0] for name in held) == ["/dev/null"] * 3 + ["socket"]


def test_reuse_keeps_a_healthy_sandbox_for_some_episodes(own_runtime, opened):
    session, pids = opened(own_runtime(reuse=3), ROGUE), []
    for _ in range(6):
        session.renew()
        assert session.request("reset") == {"count": 0}
        session.request("add")
        pids.append(session.pid)
    assert pids == [pids[0]] * 3 + [pids[3]] * 3
    assert pids[0] != pids[3]


def test_reuse_never_keeps_a_sandbox_that_failed_or_was_left_waiting(own_runtime, opened):
    session = opened(own_runtime(reuse=100), ROGUE)
    session.renew()
    first = session.pid
    session.send("hang", {})
    session.renew()
    second = session.pid
    with pytest.raises(SandboxLost):
        session.request("crash")
    session.renew()
    assert len({first, second, session.pid}) == 3


# -- nothing is left over ----------------------------------------------------------------------------


def counts():
    return entries("/proc/self/fd"), threading.active_count(), len(descendants(os.getpid()))


def test_renewals_leak_nothing(processes, opened):
    session = opened(processes)
    session.renew()
    mother = parents()[session.pid]
    wait_until(lambda: len(descendants(mother)) == 2)
    before, held = counts(), entries(f"/proc/{mother}/fd")
    for _ in range(200):
        session.renew()
        session.request("add")
    wait_until(lambda: counts() == before and entries(f"/proc/{mother}/fd") == held)


def test_closing_ends_every_process(own_runtime, opened):
    before = descendants(os.getpid())
    runtime = own_runtime(spares=2)
    opened(runtime, ROGUE).request("start_processes", {"count": 5})
    opened(runtime, SERVICE).renew()
    assert len(descendants(os.getpid()) - before) >= 10
    runtime.close()
    assert not descendants(os.getpid()) - before


DRIVER = """
import sys, time
sys.path.insert(0, {path!r})
from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import Target
runtime = ProcessRuntime(tier={tier!r}, spares=2)
session = runtime.open(Target("services:Rogue"))
session.request("start_processes", {{"count": 5}})
print("ready", flush=True)
{then}
"""


def start_driver(tier, then):
    code = DRIVER.format(path=str(Path(__file__).parent), tier=tier, then=then)
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert driver.stdout.readline() == b"ready\n"
    return driver, descendants(driver.pid)


@pytest.mark.parametrize("then", ["time.sleep(1000)", "session.send('hang', {}); time.sleep(1000)"])
def test_a_killed_trainer_leaves_no_process(tier, then):
    driver, brood = start_driver(tier, then)
    assert len(brood) >= 9
    driver.kill()
    driver.communicate()
    wait_until(lambda: not brood & parents().keys())


def test_a_trainer_killed_while_the_parent_imports_leaves_no_process(tier):
    target = "runtime.prepare(Target('services:Rogue', {'greeting': 'other'})); time.sleep(1000)"
    driver, _ = start_driver(tier, target)
    brood = descendants(driver.pid)
    driver.kill()
    driver.communicate()
    wait_until(lambda: not brood & parents().keys())


@pytest.mark.parametrize("then", ["", "raise SystemExit(3)", "1 / 0"])
def test_an_ending_trainer_has_ended_everything(tier, then):
    driver, brood = start_driver(tier, f"sys.stderr.close(); {then}")
    driver.communicate()
    assert not brood & parents().keys()


def test_plain_workspaces_are_removed(opened):
    runtime = ProcessRuntime(tier="plain")
    session = opened(runtime, ROGUE)
    homes = []
    for _ in range(3):
        session.renew()
        homes.append(Path(f"/proc/{session.pid}/cwd").readlink())
        session.request("dirty")
    assert len(set(homes)) == 3
    runtime.close()
    assert not homes[0].parent.exists()


def test_plain_workspaces_are_removed_also_when_the_parent_was_killed(opened):
    runtime = ProcessRuntime(tier="plain")
    session = opened(runtime, ROGUE)
    session.request("dirty")
    home = Path(f"/proc/{session.pid}/cwd").readlink().parent
    assert home.exists()
    os.kill(parents()[session.pid], signal.SIGKILL)
    wait_until(lambda: not home.parent.exists())
    runtime.close()


# -- processes that use processes --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_have_their_own_parent(tier, processes, opened, method):
    """As gymnasium's AsyncVectorEnv does it, here with a runtime that its own process uses as well."""
    import services

    session = opened(processes)
    session.request("add")
    context = multiprocessing.get_context(method)
    results = context.Queue()
    workers = [context.Process(target=services.drive, args=({"tier": tier}, results), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    answers = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert answers == [([1, 1, 1], "worker")] * 2
    assert session.request("add") == {"count": 2}, "the session of this process noticed nothing"


def test_a_fork_cannot_use_the_sessions_of_its_origin(processes, opened):
    session = opened(processes)
    session.request("add")
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            session.request("add")
        except SandboxLost:
            session.renew()
            os.write(writer, str(session.request("add")["count"]).encode())
        finally:
            processes.close()
            os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    assert os.read(reader, 10) == b"1"
    os.close(reader)
    assert session.request("add") == {"count": 2}


# -- a library that does not survive every fork ------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("cadquery") is None, reason="cadquery is not installed")
def test_forks_of_a_warmed_cad_kernel_compute(processes, opened):
    sessions = [opened(processes, Target("services:Solids")) for _ in range(2)]
    for _ in range(3):
        for session in sessions:
            session.renew()
            session.send("drill", {"diameter": 4.0})
        replies = [session.receive() for session in sessions]
        assert replies[0] == replies[1]
        assert replies[0]["faces"] == 7
        assert replies[0]["volume"] == pytest.approx(20 * 20 * 5 - 3.14159265 * 4 * 5, rel=1e-6)
        assert entries(f"/proc/{parents()[sessions[0].pid]}/task") == 1
