"""Proportions hold in every batch; difficulty goes where there is something to learn."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from makerspace.policy.mixing import Curriculum, Mixer

weights = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.05, 10), min_size=1)


@given(weights, st.lists(st.integers(0, 20), max_size=12))
def test_no_name_is_ever_a_group_away_from_its_share(shares, batches):
    mixer, total, seen, drawn = Mixer(shares), sum(shares.values()), Counter[str](), 0
    for count in batches:
        seen.update(mixer.draw(count))
        drawn += count
        for name, weight in shares.items():
            assert abs(seen[name] - drawn * weight / total) < len(shares)
            assert seen[name] - drawn * weight / total < 1.0 + 1e-6


def test_equal_weights_take_turns():
    mixer = Mixer({"cad": 1.0, "terminal": 1.0})
    assert [sorted(mixer.draw(2)) for _ in range(3)] == [["cad", "terminal"]] * 3


def test_a_mixer_goes_on_where_its_debts_were_kept():
    one, kept = Mixer({"a": 3.0, "b": 1.0}), Mixer({"a": 3.0, "b": 1.0})
    first = kept.draw(3)
    assert first + Mixer({"a": 3.0, "b": 1.0}, dict(kept.owed)).draw(5) == one.draw(8)


def test_the_curriculum_leaves_what_is_solved_and_what_is_hopeless():
    curriculum, rng = Curriculum(bands=3), random.Random(0)
    for _ in range(30):
        curriculum.learn("cad", 0.1, [True] * 8)
        curriculum.learn("cad", 0.5, [True, False] * 4)
        curriculum.learn("cad", 0.9, [False] * 8)
    bands = Counter(int(curriculum.draw("cad", rng) * 3) for _ in range(600))
    assert bands[1] > 2 * max(bands[0], bands[2])
    assert min(bands[0], bands[2]) > 0  # still looked at, now and then
