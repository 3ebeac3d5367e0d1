"""A small world, and episodes recorded in it, for the tests of traces."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from pydantic import Field

from makerspace.rewards.base import Outcome, Score
from makerspace.simulators.application import Application
from makerspace.simulators.base import ToolCall, ToolError, ToolFault, ToolResult, View
from makerspace.simulators.tools import tool
from makerspace.traces.records import Header, tools_digest
from makerspace.traces.writer import TraceWriter

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


class Ledger(Application):
    """An account that cannot be overdrawn."""

    name = "ledger"
    feature_names = ("balance",)
    fee = 0

    @tool
    def pay_in(self, amount: Annotated[int, Field(gt=0)]) -> ToolResult:
        """Pay in.

        Args:
            amount: How much.
        """
        self.balance += amount - self.fee
        return ToolResult(True, f"balance {self.balance}", {"balance": self.balance}, image=PNG)

    @tool
    def draw(self, amount: Annotated[int, Field(gt=0)]) -> ToolResult:
        """Draw.

        Args:
            amount: How much.
        """
        if amount > self.balance:
            raise ToolFault("precondition", f"only {self.balance} is there, not {amount}")
        self.balance -= amount
        return ToolResult(True, f"balance {self.balance}")

    def reset(self, scene, seed):
        self.balance = scene["balance"] + seed
        return self.observe()

    def observe(self):
        return View(f"holds {self.balance}", (float(self.balance),))

    def artifacts(self):
        return {"ledger.json": self.snapshot()}

    def snapshot(self):
        return json.dumps(self.balance).encode()

    def restore(self, snapshot):
        self.balance = json.loads(snapshot)

    def state_hash(self):
        return hashlib.blake2b(self.snapshot(), digest_size=8).hexdigest()


class DearLedger(Ledger):
    """The same, after somebody changed what paying in does."""

    fee = 1


@dataclass
class Recorder:
    """Plays calls in a world and records them as an env would."""

    writer: TraceWriter
    world: Application = field(default_factory=Ledger)

    def start(self, task="ledger.fill/train/3@0.5", scene=None, **host):
        header = Header(
            env_id="makerspace/ledger.fill-v0",
            task_id=task,
            family="ledger.fill",
            application=self.world.name,
            seed=7,
            instruction="Fill it up.",
            scene={"balance": 10} if scene is None else scene,
            max_steps=9,
            tools=tools_digest(self.world.tools()),
        )
        view = self.world.reset(header.scene, header.seed)
        return self.writer.start(
            header, text=view.text, features=view.features, state_hash=self.world.state_hash(), host=host
        )

    def step(self, number, call, **extra):
        self.writer.action(number, json.dumps(call.to_json()), call)
        result = self.world.call(call) if call.name != "submit" else ToolResult(True, "handed in")
        view = self.world.observe()
        self.writer.result(number, result.to_json(), text=view.text, features=view.features,
                           state_hash=self.world.state_hash(), **extra)  # fmt: skip

    def episode(self, task="ledger.fill/train/3@0.5", total=1.0):
        """Record a whole episode: a call, a refused call, an action that is none, a note, and the end."""
        path = self.start(task)
        self.step(1, ToolCall("pay_in", {"amount": 5}))
        self.step(2, ToolCall("draw", {"amount": 500}))
        self.writer.action(3, "gibberish \x1b[31m[red]", None, ToolError("malformed", "no call in it"))
        view = self.world.observe()
        self.writer.result(3, ToolResult.failure("malformed", "no call in it"), text=view.text, features=view.features,
                           state_hash=self.world.state_hash())  # fmt: skip
        self.writer.note("tokens", {"ids": [1, 2, 3], "logp": [-0.5, -0.25, -1e-9]})
        score = Score(total, {"filled": total, "tidy": None})
        self.step(4, ToolCall("submit", {"answer": "done"}), reward=total, terms=score.terms, terminated=True)
        self.writer.verdict(score, Outcome(self.world.artifacts(), "done", True, ("pay_in", "draw", "submit")))
        self.writer.close()
        return path


@pytest.fixture
def recorder(tmp_path):
    return Recorder(TraceWriter(tmp_path, durable=False))


@pytest.fixture
def episode(recorder):
    """The file of one complete episode."""
    return recorder.episode()


@pytest.fixture
def ledger():
    return Ledger


@pytest.fixture
def dear_ledger():
    return DearLedger


@pytest.fixture
def recorder_class():
    return Recorder
