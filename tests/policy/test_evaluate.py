"""Intervals and the fixed set of tasks."""

import pytest

pytest.importorskip("torch", reason="needs the extra 'train'")

from hypothesis import given
from hypothesis import strategies as st

from makerspace.policy.evaluate import Rate, evaluation_jobs


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_mean_and_stays_in_bounds(pair):
    rate = Rate(*pair)
    low, high = rate.interval
    assert 0 <= low <= rate.mean <= high <= 1


def test_the_interval_is_the_published_one():
    """Wilson's interval of 81 in 263, as in Newcombe 1998, Stat. Med. 17, 857-872, table I, method 3."""
    low, high = Rate(81, 263).interval
    assert (low, high) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_every_family_gets_its_share_of_every_difficulty():
    jobs = evaluation_jobs(["a", "b"], 10, "test")
    assert [job.env_id for job in jobs].count("a") == 5
    assert sorted({job.options["difficulty"] for job in jobs}) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert len({(job.env_id, job.options["index"]) for job in jobs}) == 10


def test_the_tasks_do_not_depend_on_the_sampling_seed():
    one, two = evaluation_jobs(["a"], 5, "test", seed=0), evaluation_jobs(["a"], 5, "test", seed=1)
    assert [job.options for job in one] == [job.options for job in two]
    assert [job.seed for job in one] != [job.seed for job in two]
