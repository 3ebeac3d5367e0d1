"""Text of any characters in Gymnasium's spaces, batches and shared memory."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Text, flatten, flatten_space, unflatten
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import batch_space, create_shared_memory, read_from_shared_memory, write_to_shared_memory
from hypothesis import given
from hypothesis import strategies as st

from makerspace.envs.actions import CallText
from makerspace.envs.spaces import LONGEST_SAMPLE, SharedTexts, UnicodeText, from_codes, to_codes

ANY = st.text(st.characters(), max_size=50)
SPACE = UnicodeText(50)


@given(ANY)
def test_every_text_that_is_short_enough_is_a_member(text):
    assert text in SPACE
    assert (text in UnicodeText(10)) == (len(text) <= 10)
    assert (text in UnicodeText(60, min_length=5)) == (len(text) >= 5)


@given(ANY)
def test_code_points_and_flat_arrays_lose_nothing(text):
    assert from_codes(to_codes(text)) == text
    flat = flatten(SPACE, text)
    assert flat in flatten_space(SPACE)
    assert unflatten(SPACE, flat) == text


@given(st.lists(ANY, min_size=2, max_size=2))
def test_shared_memory_loses_nothing(texts):
    memory = create_shared_memory(SPACE, 2)
    shown = read_from_shared_memory(SPACE, memory, 2)
    for index, text in enumerate(texts):
        write_to_shared_memory(SPACE, index, text, memory)
    assert shown == tuple(texts)
    write_to_shared_memory(SPACE, 0, "", memory)
    assert shown[0] == ""


def test_what_is_not_text_is_no_member():
    assert 5 not in SPACE
    assert None not in SPACE
    assert b"a" not in SPACE


def test_samples_are_short_printable_and_seeded():
    space = UnicodeText(10_000, seed=3)
    samples = [space.sample() for _ in range(50)]
    assert all(sample in space and sample.isprintable() and len(sample) <= LONGEST_SAMPLE for sample in samples)
    assert [UnicodeText(10_000, seed=3).sample()] == samples[:1]
    assert len(UnicodeText(9, min_length=9).sample()) == 9
    assert space.sample(mask=(4, None)) != space.sample(mask=(4, None))
    assert len(space.sample(mask=(4, None))) == 4


def test_a_pickle_is_small_and_goes_on_sampling_alike():
    for space in (UnicodeText(1 << 20, seed=1), CallText([("drill", {"properties": {}})], seed=1)):
        data = pickle.dumps(space)
        assert len(data) < 3000
        assert pickle.loads(data) == space
        copies = [pickle.loads(data), copy.deepcopy(space)]
        assert [one.sample() for one in copies] == [space.sample()] * 2


def test_it_is_a_text_space_for_those_who_ask():
    assert isinstance(SPACE, Text)
    assert UnicodeText(5) == UnicodeText(5)
    assert hash(UnicodeText(5)) == hash(UnicodeText(5))
    assert UnicodeText(5) not in (UnicodeText(6), UnicodeText(5, min_length=1), Text(5))
    assert is_space_dtype_shape_equiv(UnicodeText(5), UnicodeText(5, min_length=1))
    assert not is_space_dtype_shape_equiv(UnicodeText(5), UnicodeText(6))
    assert repr(UnicodeText(5)) == "UnicodeText(5, min_length=0)"


def test_a_live_view_is_a_tuple_and_its_copy_stays():
    memory = create_shared_memory(SPACE, 3, multiprocessing.get_context("spawn"))
    live = read_from_shared_memory(SPACE, memory, 3)
    assert isinstance(live, SharedTexts)
    write_to_shared_memory(SPACE, 1, "now", memory)
    kept = copy.deepcopy({"text": live})["text"]
    write_to_shared_memory(SPACE, 1, "later", memory)
    assert (type(kept), kept) == (tuple, ("", "now", ""))
    assert (list(live), live[1:], len(live), "later" in live, "now" in live) == (
        ["", "later", ""],
        ("later", ""),
        3,
        True,
        False,
    )
    assert repr(live) == "('', 'later', '')"
    assert hash(live) == hash(("", "later", ""))
    assert live in batch_space(SPACE, 3)


def test_a_dictionary_with_text_goes_through_shared_memory():
    space = Dict({"text": SPACE, "x": Box(0, 1, (2,), np.float32)})
    memory = create_shared_memory(space, 2)
    seen = read_from_shared_memory(space, memory, 2)
    write_to_shared_memory(space, 1, {"text": "größer ✓", "x": np.array([0, 1], np.float32)}, memory)
    assert seen["text"] == ("", "größer ✓")
    assert seen["x"].tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("n", [1, 4])
def test_batches_sample_different_texts(n):
    batch = batch_space(UnicodeText(40, seed=0), n)
    batch.seed(0)
    assert len(set(batch.sample())) == n
