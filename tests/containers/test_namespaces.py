"""What a sandbox of the tier ``namespaces`` cannot reach."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from watching import ROGUE, parents

from makerspace.containers.process import ProcessRuntime
from makerspace.containers.runtimes import open_runtime
from makerspace.containers.session import Target


@pytest.fixture
def sandbox(kernel_allows_namespaces, opened):
    if not kernel_allows_namespaces:
        pytest.skip("the kernel lets this user build no namespaces")
    session = opened(open_runtime("process", tier="namespaces"), ROGUE)
    session.renew()
    return session


ATTEMPTS = {
    "write in the root": "open('/left', 'w')",
    "write in /etc": "open('/etc/passwd', 'a')",
    "write beside this code": f"open({str(Path(__file__).with_name('left'))!r}, 'w')",
    "open a disk": "import glob; [open(d, 'rb') for d in glob.glob('/dev/[sv]d*') or ['/dev/sda']]",
    "read kernel messages": "open('/dev/kmsg')",
    "set the core pattern": "open('/proc/sys/kernel/core_pattern', 'w')",
    "press sysrq": "open('/proc/sysrq-trigger', 'w')",
    "mount": "ctypes.CDLL(None, use_errno=True).mount(b't', b'/mnt', b'tmpfs', 0, None) and os.close(-1)",
    "unmount": "ctypes.CDLL(None, use_errno=True).umount2(b'/tmp', 2) and os.close(-1)",
    "make a user namespace": "ctypes.CDLL(None, use_errno=True).unshare(0x10000000) and os.close(-1)",
    "make a mount namespace": "ctypes.CDLL(None, use_errno=True).unshare(0x00020000) and os.close(-1)",
    "change the root": "os.chroot('/tmp')",
    "become another user": "os.setuid(12345)",
    "make a device": "os.mknod('/tmp/disk', 0o60600, os.makedev(8, 0))",
    "change the host's name": "import socket; socket.sethostname('left')",
    "reach the network": "import socket; socket.create_connection(('127.0.0.1', 22), timeout=5)",
    "see a service of the machine": "os.listdir('/run') or os.close(-1)",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_fails(sandbox, attempt):
    assert sandbox.request("attempt", {"code": ATTEMPTS[attempt]})["failed"] in (
        "OSError",
        "PermissionError",
        "FileNotFoundError",
        "ConnectionRefusedError",
    )


def test_it_sees_no_process_but_its_own(sandbox):
    code = "assert [p for p in os.listdir('/proc') if p.isdigit()] == ['1']"
    assert sandbox.request("attempt", {"code": code}) == {"failed": None}


def test_it_has_no_capabilities(sandbox):
    status = Path(f"/proc/{sandbox.pid}/status").read_text()
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert f"{name}:\t{'0' * 16}\n" in status
    assert "NoNewPrivs:\t1\n" in status


def test_its_files_stay_inside(sandbox):
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        name = f"{place}/makerspace-test-left"
        assert sandbox.request("attempt", {"code": f"open({name!r}, 'w').write('left')"}) == {"failed": None}
        assert not Path(name).exists()


def test_its_file_system_is_bounded(sandbox):
    assert (
        sandbox.request("attempt", {"code": "f = open('full', 'wb')\nwhile True: f.write(bytes(1 << 20))"})["failed"]
        == "OSError"
    )
    assert sandbox.request("add") == {"count": 1}


def test_neighbours_share_no_namespace_that_matters(sandbox, opened):
    other = opened(open_runtime("process", tier="namespaces"), ROGUE)
    other.renew()
    for kind in ("pid", "mnt", "ipc", "uts"):
        assert Path(f"/proc/{sandbox.pid}/ns/{kind}").readlink() != Path(f"/proc/{other.pid}/ns/{kind}").readlink()
        assert Path(f"/proc/{sandbox.pid}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()
    for kind in ("user", "net"):
        assert Path(f"/proc/{sandbox.pid}/ns/{kind}").readlink() != Path(f"/proc/self/ns/{kind}").readlink()


def test_the_parent_is_number_one_of_its_own_processes(sandbox):
    status = Path(f"/proc/{parents()[sandbox.pid]}/status").read_text()
    assert next(line for line in status.splitlines() if line.startswith("NSpid")).split()[-1] == "1"


LAZY = """
class Lazy:
    def warm(self):
        pass

    def handle(self, operation, payload):
        import lazy_part

        return {"answer": lazy_part.ANSWER}
"""


def test_code_that_lies_in_a_covered_place_can_still_be_imported(sandbox, opened, monkeypatch):
    """As for a checkout in /tmp."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "lazy_service.py").write_text(LAZY)
        Path(folder, "lazy_part.py").write_text("ANSWER = 42")
        monkeypatch.syspath_prepend(folder)
        session = opened(open_runtime("process", tier="namespaces"), Target("lazy_service:Lazy"))
        assert session.request("ask") == {"answer": 42}


DENIED = """
import os, sys
from pathlib import Path
from makerspace.containers import kernel
from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import Target
sys.path.insert(0, sys.argv[1])
user = os.getuid()
kernel.unshare(kernel.NEWUSER)
Path("/proc/self/setgroups").write_text("deny")
Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
Path("/proc/sys/user/max_user_namespaces").write_text("0")
session = ProcessRuntime(tier="auto").open(Target("services:Service"))
assert session.request("add") == {"count": 1}
print(session.tier)
"""


def test_without_namespaces_the_tier_is_plain(sandbox):
    command = [sys.executable, "-c", DENIED, str(Path(__file__).parent)]
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # the kernel gives a user namespace to no other process
    assert subprocess.run(command, check=True, capture_output=True, text=True, env=one_thread).stdout == "plain\n"


def test_with_namespaces_the_tier_is_namespaces(sandbox, opened):
    runtime = ProcessRuntime(tier="auto")
    session = opened(runtime, ROGUE)
    session.renew()
    assert session.tier == "namespaces"
    runtime.close()
