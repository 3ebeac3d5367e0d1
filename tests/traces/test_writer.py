"""The writer: an episode arrives in its file step by step, whoever else writes and whatever fails."""

import json

import numpy as np
import pytest

from makerspace.rewards.base import Outcome, Score
from makerspace.simulators.base import ToolCall, ToolError
from makerspace.traces.log import TraceError
from makerspace.traces.reader import list_traces, read
from makerspace.traces.records import Header
from makerspace.traces.writer import TraceWriter


def test_an_episode_is_read_back_as_it_was_told(episode):
    trace = read(episode)
    assert trace.complete
    assert (trace.header.family, trace.header.seed, trace.header.scene) == ("ledger.fill", 7, {"balance": 10})
    assert (trace.start.text, trace.start.features) == ("holds 17", (17.0,))
    first, refused, gibberish, last = trace.steps
    assert first.action.call == {"name": "pay_in", "arguments": {"amount": 5}}
    assert (first.result.result["text"], first.result.text, first.result.reward) == ("balance 22", "holds 22", 0.0)
    assert refused.result.result["error"]["code"] == "precondition"
    assert (gibberish.action.call, gibberish.action.error["code"]) == (None, "malformed")
    assert gibberish.notes[0].data == {"ids": [1, 2, 3], "logp": [-0.5, -0.25, -1e-9]}
    assert (last.result.terminated, last.result.reward) == (True, 1.0)
    assert (trace.verdict.total, trace.verdict.success, trace.verdict.terms) == (
        1.0,
        True,
        {"filled": 1.0, "tidy": None},
    )


def test_images_and_artifacts_lie_beside_the_trace(episode):
    trace = read(episode)
    image = trace.steps[0].result.result["image"]
    assert trace.blobs.get(image).startswith(b"\x89PNG")
    assert trace.blobs.get(trace.verdict.artifacts["ledger.json"]) == b"22"


def test_an_outcome_can_be_scored_again(episode):
    outcome = Outcome.from_json(json.loads(json.dumps(read(episode).outcome())))
    assert outcome == Outcome({"ledger.json": b"22"}, "done", True, ("pay_in", "draw", "submit"))


def test_every_record_is_on_file_before_the_method_returns(recorder):
    path = recorder.start()
    recorder.writer.action(1, "x", ToolCall("pay_in", {"amount": 1}))
    trace = read(path)
    assert not trace.complete
    assert (trace.steps[0].action.raw, trace.steps[0].result) == ("x", None)


def test_names_follow_from_the_tasks(recorder, tmp_path):
    tasks = ["ledger.fill/train/3@0.5", "ledger.fill/train/3@0.5", "ledger.fill/test/0@1"]
    names = [str(recorder.episode(task).relative_to(tmp_path)) for task in tasks]
    assert names == [
        "ledger.fill/train-3@0.5.0.trace",
        "ledger.fill/train-3@0.5.1.trace",
        "ledger.fill/test-0@1.0.trace",
    ]


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "", "..", "a\0b", "a\nb", "é" * 500, "CON/../x"])
def test_names_stay_inside_the_directory(tmp_path, name):
    directory = tmp_path / "traces"
    with TraceWriter(directory, durable=False) as writer:
        path = writer.start(Header("e", name, name, "ledger", 0, "", {}, 1), text="", features=(), state_hash="")
    assert path.resolve().parent.parent == directory.resolve()
    assert read(path).complete


def test_a_new_writer_goes_on_where_the_names_end(recorder, recorder_class, tmp_path):
    first = recorder.episode()
    second = recorder_class(TraceWriter(tmp_path, durable=True)).episode()
    assert (first.name, second.name) == ("train-3@0.5.0.trace", "train-3@0.5.1.trace")


def test_a_reset_in_mid_episode_closes_without_verdict(recorder):
    first = recorder.start()
    recorder.step(1, ToolCall("pay_in", {"amount": 1}))
    recorder.episode()
    trace = read(first)
    assert trace.complete
    assert trace.verdict is None
    assert trace.records[-1].success is None


def test_faults_and_lost_sandboxes_are_kept(recorder):
    path = recorder.start(runtime="process")
    recorder.writer.action(1, "x", ToolCall("draw", {"amount": 1}))
    recorder.writer.result(1, None, reward=None, truncated=True, infra_error="SandboxLost: killed")
    recorder.writer.fault(TimeoutError("the scorer did not answer"))
    recorder.writer.verdict(Score(None, {"filled": None}), Outcome())
    recorder.writer.close()
    trace = read(path)
    assert trace.header.host["runtime"] == "process"
    assert (trace.steps[0].result.infra_error, trace.steps[0].result.reward) == ("SandboxLost: killed", None)
    assert (trace.faults[0].error, trace.faults[0].step) == ("TimeoutError", 1)
    assert (trace.verdict.total, trace.verdict.success) == (None, False)


def test_actions_of_every_view_are_kept(recorder):
    path = recorder.start()
    recorder.writer.action(1, np.array([3, 0, 2]), None, ToolError("malformed", "?", nearest=("draw",)))
    recorder.writer.action(2, {"tool": np.int64(1), "arguments": "{}"}, None)
    recorder.writer.action(3, "\ud800\0", ToolCall("draw", {"amount": 10**400}))
    recorder.writer.result(3, None, features=np.array([0.5, 1.5], dtype=np.float32))
    recorder.writer.close()
    trace = read(path)
    assert [step.action.raw for step in trace.steps] == [[3, 0, 2], {"tool": 1, "arguments": "{}"}, "\ud800\0"]
    assert trace.steps[0].action.error["nearest"] == ["draw"]
    assert trace.steps[2].action.call["arguments"]["amount"] == 10**400
    assert trace.steps[2].result.features == (0.5, 1.5)


def test_without_an_episode_there_is_nothing_to_write_to(tmp_path):
    writer = TraceWriter(tmp_path)
    writer.close()
    with pytest.raises(TraceError, match="no episode is open: a note"):
        writer.note("x", 1)
    assert writer.path is None


def test_a_listing_shows_each_episode_oldest_first(recorder, tmp_path):
    recorder.episode(total=1.0)
    recorder.episode("ledger.fill/test/0@1", total=0.25)
    recorder.start("ledger.fill/test/1@1")
    recorder.step(1, ToolCall("pay_in", {"amount": 1}))
    (tmp_path / "ledger.fill" / "broken.trace").write_bytes(b"\0" * 4096)
    (tmp_path / "ledger.fill" / "empty.trace").write_bytes(b"")
    found = list_traces(tmp_path)
    assert [(one.task_id[12:], one.steps, one.total, one.success, one.complete) for one in found] == [
        ("train/3@0.5", 4, 1.0, True, True),
        ("test/0@1", 4, 0.25, False, True),
        ("test/1@1", 1, None, None, False),
    ]
    json.dumps([one.to_json() for one in found])


def test_hidden_goals_have_no_place():
    assert "goal" not in Header.__dataclass_fields__
