"""Frames survive every tearing, and nothing else passes for a frame."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from makerspace.containers.frames import HEADER, MAGIC, Frame, FrameError, Kind, Parser, copy, encode

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner), max_leaves=10
)
BODIES = st.dictionaries(st.text(), VALUES, max_size=4)
FRAMES = st.builds(Frame, st.sampled_from(Kind), st.integers(0, 2**32 - 1), BODIES)

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def drain(parser):
    frames = []
    while (frame := parser.take()) is not None:
        frames.append(frame)
    return frames


@patient
@given(st.lists(FRAMES, max_size=4), st.data())
def test_frames_arrive_whole_however_the_bytes_are_torn(frames, data):
    stream = b"".join(map(encode, frames))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    parser, arrived = Parser(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        parser.feed(stream[start:end])
        arrived += drain(parser)
    assert arrived == frames
    assert parser.pending == 0


@patient
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_or_waited_for(data):
    parser = Parser()
    parser.feed(data)
    try:
        frames = drain(parser)
    except FrameError:
        return
    assert all(frame.kind in Kind for frame in frames)
    rest = data[len(data) - parser.pending :]
    assert MAGIC.startswith(rest[:4]), "only the beginning of a frame may be waited for"


@patient
@given(FRAMES, st.integers(0, HEADER.size - 5), st.integers(1, 255))
def test_a_changed_byte_before_the_length_is_never_the_same_frame(frame, place, change):
    data = bytearray(encode(frame))
    data[place] ^= change
    parser = Parser()
    parser.feed(bytes(data))
    with suppress(FrameError):
        assert parser.take() != frame


@pytest.mark.parametrize("length", [101, 2**31, 2**32 - 1])
def test_an_oversized_frame_is_refused_before_its_body_arrives(length):
    parser = Parser(cap=100)
    parser.feed(HEADER.pack(MAGIC, Kind.OK, 1, length))
    with pytest.raises(FrameError, match="over the cap of 100"):
        parser.take()


def test_an_oversized_body_is_not_sent():
    with pytest.raises(FrameError, match="over the cap"):
        encode(Frame(Kind.REQUEST, 1, {"text": "x" * 100}), cap=100)


@pytest.mark.parametrize("body", [b"", b"[]", b"1", b'"text"', b"null", b"{", b'{"a": 1} x', b"\xff", b"\0" * 8])
def test_a_body_must_be_one_json_object(body):
    parser = Parser()
    parser.feed(HEADER.pack(MAGIC, Kind.OK, 1, len(body)) + body)
    with pytest.raises(FrameError, match="the body is not"):
        parser.take()


@pytest.mark.parametrize("kind", [0, 4, 255])
def test_an_unknown_kind_is_refused(kind):
    parser = Parser()
    parser.feed(HEADER.pack(MAGIC, kind, 1, 2) + b"{}")
    with pytest.raises(FrameError, match="no frame begins with"):
        parser.take()


def test_zero_bytes_are_no_frames():
    parser = Parser()
    parser.feed(b"\0" * 4096)
    with pytest.raises(FrameError):
        parser.take()


@patient
@given(BODIES)
def test_a_copy_is_what_json_makes_of_it(body):
    assert copy(body) == json.loads(json.dumps(body))


@pytest.mark.parametrize("value", [math.inf, -math.inf, "\ud800", 2**200, "\0", 5e-324, -0.0])
def test_odd_values_cross(value):
    assert repr(copy({"value": value})["value"]) == repr(value)


def test_nan_crosses():
    assert math.isnan(copy({"value": math.nan})["value"])


@pytest.mark.parametrize("depth", [100, 190, 210, 260, 500])
def test_nested_values_cross_or_are_refused_by_the_sender(depth):
    value = []
    for _ in range(depth):
        value = [value]
    assert copy({"value": value}) == {"value": value}


@pytest.mark.parametrize("depth", [10_000, 200_000])
def test_values_nested_beyond_reason_are_refused_by_the_sender(depth):
    value = []
    for _ in range(depth):
        value = [value]
    try:
        with pytest.raises(ValueError, match="nested too deeply"):
            copy({"value": value})
    finally:
        while value:  # taken apart by hand: freeing it in one go is deep as well
            value = value[0]


def test_an_object_that_is_no_data_is_refused():
    with pytest.raises(TypeError):
        copy({"value": object()})
