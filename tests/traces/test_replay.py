"""Replay: the same calls give the same states, and the first difference is named."""

import pytest

from makerspace.simulators import APPLICATIONS, open_application
from makerspace.simulators.base import ToolCall
from makerspace.traces.reader import read
from makerspace.traces.replay import Divergence, replay
from makerspace.traces.writer import TraceWriter


def test_an_unchanged_world_agrees(episode, ledger):
    again = replay(read(episode), ledger())
    assert (again.steps, again.divergence, again.agrees, again.tools_changed) == (4, None, True, False)


def test_a_changed_world_is_found_at_the_first_step_that_differs(episode, dear_ledger):
    again = replay(read(episode), dear_ledger())
    assert (again.steps, again.divergence) == (0, Divergence(1, "text", "balance 22", "balance 21"))
    assert str(again.divergence) == "step 1: text was 'balance 22', is 'balance 21'"


def test_a_state_that_differs_without_a_word_is_found(episode, ledger):
    class Silent(ledger):
        def state_hash(self):
            return super().state_hash() if self.balance != 22 else "other"

    again = replay(read(episode), Silent())
    assert (again.steps, again.divergence.step, again.divergence.field) == (0, 1, "state_hash")


def test_another_start_is_step_zero(episode, ledger):
    class Rich(ledger):
        def reset(self, scene, seed):
            return super().reset({"balance": 1000}, seed)

    again = replay(read(episode), Rich())
    assert again.divergence == Divergence(0, "view", "holds 17", "holds 1007")


def test_replay_goes_as_far_as_the_recording(recorder, ledger):
    path = recorder.start()
    recorder.step(1, ToolCall("pay_in", {"amount": 1}))
    again = replay(read(path), ledger())
    assert (again.steps, again.divergence, again.agrees) == (1, None, False)
    assert again.stopped.startswith("the trace ends here: no footer")
    recorder.writer.action(2, "x", ToolCall("pay_in", {"amount": 2}))
    assert replay(read(path), ledger()).stopped == "step 2 has no result: recording ended during the call"
    recorder.writer.result(2, None, truncated=True, infra_error="SandboxLost")
    assert replay(read(path), ledger()).stopped == "the sandbox failed at step 2: SandboxLost"


def test_other_tools_are_mentioned(episode, ledger):
    class Bare(ledger):
        @classmethod
        def tools(cls):
            return super().tools()[:1]

    assert replay(read(episode), Bare()).tools_changed


def test_an_application_that_does_not_exist_is_named(episode):
    assert "ledger" not in APPLICATIONS
    with pytest.raises(KeyError, match="no application 'ledger'"):
        replay(read(episode))


def test_a_part_is_modelled_again_by_the_application_that_the_header_names(tmp_path, recorder_class):
    pytest.importorskip("cadquery", reason="the CAD application needs cadquery")
    recorder = recorder_class(TraceWriter(tmp_path), open_application("cad"))
    path = recorder.start("cad.plate/train/0@0.5", scene={})
    calls = [
        ToolCall("new_sketch", {"plane": "XY"}),
        ToolCall("rectangle", {"width": 40, "height": 20}),
        ToolCall("extrude", {"distance": 5.5}),
        ToolCall("extrude", {"distance": -1}),
        ToolCall("hole", {"diameter": 6, "x": 5, "y": 0}),
        ToolCall("submit"),
    ]
    for number, call in enumerate(calls, 1):
        recorder.step(number, call)
    recorder.writer.close()
    trace = read(path)
    assert [step.result.result["ok"] for step in trace.steps] == [True, True, True, False, True, True]
    assert trace.start.state_hash != trace.steps[-1].result.state_hash
    again = replay(trace)
    assert (again.steps, again.divergence, again.agrees) == (6, None, True)
