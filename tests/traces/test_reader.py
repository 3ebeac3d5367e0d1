"""The reader: what can be trusted is read, and the rest is explained."""

import zlib

import pytest

from makerspace.traces.log import FIRST, TraceError, encode
from makerspace.traces.reader import canonical, read


def log_of(*bodies):
    """Return a log with correct checksums around any bodies."""
    data, previous = b"", FIRST
    for number, body in enumerate(bodies):
        line = encode({"seq": number, "prev": previous, **body})
        previous = f"{zlib.crc32(line):08x}"
        data += previous.encode() + b" " + line + b"\n"
    return data


HEADER = {"kind": "header", "env_id": "e", "task_id": "t", "family": "f", "application": "ledger", "seed": 1,
          "instruction": "i", "scene": {}, "max_steps": 3, "schema": 1}  # fmt: skip


def test_cut_at_every_byte_a_trace_is_read_to_the_last_whole_record(episode):
    data = episode.read_bytes()
    whole = read(episode).records
    for cut in range(data.find(b"\n") + 1, len(data)):
        episode.write_bytes(data[:cut])
        trace = read(episode)
        assert trace.records == whole[: data[:cut].count(b"\n")]
        assert not trace.complete


def test_without_a_header_there_is_no_trace(episode):
    data = episode.read_bytes()
    for cut in range(data.find(b"\n") + 1):
        episode.write_bytes(data[:cut])
        with pytest.raises(TraceError, match="holds no header: "):
            read(episode)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"kind": "poem"}, "line 2: unknown kind of record 'poem'"),
        ({"kind": "action", "step": 1}, "line 2: action without 'raw'"),
        ({"kind": "action", "step": "one", "raw": "", "call": None}, "line 2: action: step is of type str"),
        ({"kind": "action", "step": True, "raw": "", "call": None}, "line 2: action: step is of type bool"),
        ({"kind": "note", "topic": "t", "step": 1, "data": 2, "host": []}, "line 2: note: host is of type list"),
    ],
)
def test_records_that_make_no_sense_end_the_trace(tmp_path, body, reason):
    (path := tmp_path / "a.trace").write_bytes(log_of(HEADER, body))
    trace = read(path)
    assert (len(trace.records), trace.reason) == (1, reason)


def test_unknown_fields_are_passed_over_and_a_newer_schema_refused(tmp_path):
    (path := tmp_path / "a.trace").write_bytes(log_of({**HEADER, "colour": "blue"}))
    assert read(path).header.env_id == "e"
    path.write_bytes(log_of({**HEADER, "schema": 2}))
    with pytest.raises(TraceError, match="newer version: schema 2"):
        read(path)


def test_equal_runs_are_equal_but_for_their_host(recorder):
    one, two = read(recorder.episode()), read(recorder.episode())
    assert one.path.read_bytes() != two.path.read_bytes()
    assert canonical(one) == canonical(two)
    assert one.records[:-1] == two.records[:-1]


def test_other_runs_are_not_equal(recorder):
    assert canonical(read(recorder.episode())) != canonical(read(recorder.episode(total=0.5)))
