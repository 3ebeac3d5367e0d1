"""The log: what is written is read back, and damage is named wherever it strikes."""

import errno
import json
import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from makerspace.traces.log import EpisodeLog, TraceError, TraceWriteError, canonical, decode, encode, scan

anything = st.text(st.characters(exclude_categories=()))
numbers = st.integers() | st.integers(0, 4200).map(lambda n: -(10**n)) | st.floats(allow_nan=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | anything,
    lambda inner: st.lists(inner) | st.dictionaries(anything, inner),
    max_leaves=12,
)


def write(path, count=6, **options):
    log = EpisodeLog(path, **options)
    for number in range(count):
        log.append("note", {"topic": "n", "data": number, "host": {"ns": 1000 + number}})
    log.finish({"steps": count})
    log.close()
    return path.read_bytes()


@given(values)
@example("\ud800 and \x00 and \u2028 and \x1b[2J")
@example({"\udfff": [1e22, 1e-7, -0.0, 5e-324, 1.7976931348623157e308]})
@example([float("inf"), float("-inf")])
def test_any_json_comes_back(value):
    data = encode(value)
    assert b"\n" not in data
    assert decode(data) == value


def test_not_a_number_comes_back():
    assert str(decode(encode([float("nan"), -0.0]))) == "[nan, -0.0]"


def test_integers_longer_than_python_converts_come_back():
    assert decode(encode({"n": [10**5000, -(10**9001) + 7]})) == {"n": [10**5000, -(10**9001) + 7]}


def test_nesting_beyond_every_parser_is_cut():
    value = []
    for _ in range(5000):
        value = [value]
    assert b"nested too deeply" in encode(value)
    decode(encode(value))


def test_numpy_is_written_as_numbers():
    value = {"a": np.float32(0.5), "b": np.arange(3), "c": np.float64(0.1), "d": np.bool_(True)}
    assert decode(encode(value)) == {"a": 0.5, "b": [0, 1, 2], "c": 0.1, "d": True}


def test_what_is_not_json_is_refused():
    with pytest.raises(TypeError, match="not object"):
        encode({"a": object()})


def test_records_are_lines_that_grep_can_read(tmp_path):
    first = write(tmp_path / "a").splitlines()[0]
    assert first[:9] == b"%08x " % zlib.crc32(first[9:])
    assert json.loads(first[9:]) == {"kind": "note", "seq": 0, "prev": "00000000", "topic": "n", "data": 0,
                                     "host": {"ns": 1000}}  # fmt: skip


def test_a_finished_log_is_complete(tmp_path):
    found = scan(write(tmp_path / "a", sync_every=2))
    assert found.reason is None
    assert [body["kind"] for body in found.bodies] == ["note"] * 6 + ["footer"]


def test_cut_at_every_byte_all_whole_lines_survive(tmp_path):
    data = write(tmp_path / "a")
    whole = scan(data).bodies
    for cut in range(len(data)):
        found = scan(data[:cut])
        assert found.bodies == whole[: data[:cut].count(b"\n")]
        assert found.reason is not None
        assert found.good_bytes == data[:cut].rfind(b"\n") + 1


def test_every_flipped_bit_is_found(tmp_path):
    data = write(tmp_path / "a", 3)
    whole = scan(data).bodies
    for at in range(len(data)):
        for bit in range(8):
            broken = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            found = scan(broken)
            assert found.reason is not None, (at, bit)
            assert found.bodies == whole[: data[:at].count(b"\n")]


@pytest.mark.parametrize("zeros", [1, 4096, 8192])
def test_pages_of_zeros_are_no_records(tmp_path, zeros):
    data = write(tmp_path / "a")
    middle = len(b"".join(data.splitlines(keepends=True)[:2]))
    assert scan(data[:middle] + b"\0" * zeros).reason == "line 3 holds only zeros"
    assert scan(data[:middle] + b"\0" * zeros + b"\n").reason == "line 3 holds only zeros"
    assert "footer" in scan(data + b"\0" * zeros).reason
    assert len(scan(data[:middle] + b"\0" * zeros + data[middle + zeros :]).bodies) == 2
    assert scan(b"\0" * zeros).bodies == ()


def test_empty_lines_are_no_records(tmp_path):
    assert scan(b"\n").reason == "line 1 is empty"
    assert scan(b"00000000 \n").reason == "line 1 is not JSON"
    assert scan(b"").reason == "no footer: writing stopped after 0 records"


def test_lost_moved_and_changed_lines_are_named(tmp_path):
    lines = write(tmp_path / "a").splitlines(keepends=True)
    assert "record 3, expected was 2: records are missing" in scan(b"".join(lines[:2] + lines[3:])).reason
    assert "out of order" in scan(b"".join([lines[1], lines[0], *lines[2:]])).reason
    assert scan(b"".join(lines[:-1])).reason == "no footer: writing stopped after 6 records"
    assert "more follows" in scan(b"".join([*lines, lines[-1]])).reason
    body = lines[2][9:-1].replace(b'"data":2', b'"data":9')
    forged = b"%08x %b\n" % (zlib.crc32(body), body)
    assert scan(b"".join([*lines[:2], forged, *lines[3:]])).reason.startswith("line 4 does not continue")


def test_a_footer_of_another_file_is_found(tmp_path):
    log = EpisodeLog(tmp_path / "a")
    log.append("note", {})
    log.append("footer", {"count": 1, "digest": "0" * 32})
    log.close()
    assert scan((tmp_path / "a").read_bytes()).reason == "line 2 is a footer that does not match the file"


@given(st.binary(max_size=300))
def test_no_bytes_upset_the_scan(data):
    assert scan(data).reason is not None


def test_canonical_leaves_out_what_may_differ():
    one = ({"kind": "note", "seq": 0, "prev": "a", "data": {"x": 1, "y": 2}, "host": {"ns": 1}},)
    two = ({"seq": 0, "kind": "note", "prev": "b", "host": {"ns": 2}, "data": {"y": 2, "x": 1}},)
    assert canonical(one) == canonical(two) == b'{"data":{"x":1,"y":2},"kind":"note","seq":0}\n'


def test_an_existing_log_is_never_touched(tmp_path):
    data = write(tmp_path / "a")
    with pytest.raises(FileExistsError):
        EpisodeLog(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == data


def test_a_closed_log_takes_nothing(tmp_path):
    log = EpisodeLog(tmp_path / "a")
    log.close()
    log.close()
    with pytest.raises(TraceWriteError) as raised:
        log.append("note", {})
    assert raised.value.errno == errno.EBADF
    assert isinstance(raised.value, TraceError)


def test_a_log_in_no_folder_is_a_typed_error(tmp_path):
    with pytest.raises(TraceWriteError, match="No such file"):
        EpisodeLog(tmp_path / "missing" / "a")
