"""The limit on sandboxes at work."""

from hypothesis import given
from hypothesis import strategies as st

from makerspace.envs.pacing import Pace


def test_overload_halves_and_success_adds():
    pace = Pace(64)
    pace.note("SandboxTimeout: no answer within the deadline")
    assert pace.limit == 32
    pace.note("SandboxCapacity: no room for another sandbox")
    assert pace.limit == 16
    for _ in range(17):
        pace.note("")
    assert pace.limit == 17


def test_a_crash_says_nothing_of_the_load():
    pace = Pace(8)
    pace.note("SandboxLost: killed by SIGSEGV")
    assert pace.limit == 8


@given(st.integers(1, 512), st.lists(st.sampled_from(["", "SandboxTimeout: x", "SandboxLost: x"])))
def test_the_limit_stays_within_its_bounds(most, answers):
    pace = Pace(most)
    for answer in answers:
        pace.note(answer)
        assert 1 <= pace.limit <= most
