"""The sandbox's side of an environment: one application in a session, asked one thing at a time.

Every failure leaves here as a ``SandboxError``; what it means for the episode is the environment's business.
"""

from __future__ import annotations

import base64
import time

from ..containers.runtimes import open_runtime
from ..containers.session import DEADLINE, SandboxError, Session, Target
from ..simulators.base import Json, ToolCall
from .tasks.base import Task

SERVICE = "makerspace.simulators.service:ApplicationService"
VIEW = ("text", "features", "image", "state_hash")
"""What an answer tells of the application's state."""


class Workplace:
    """An application in a sandbox that is opened on first use.

    Args:
        application: Its name.
        runtime: Where it runs: ``inline``, ``process`` or ``docker``.
        deadline: Seconds that one request may take.
        options: Options of the runtime.
    """

    def __init__(self, application: str, runtime: str, deadline: float = DEADLINE, options: Json | None = None) -> None:
        self._target = Target(SERVICE, {"application": application}, application)
        self._runtime, self._options, self._deadline = runtime, dict(options or {}), deadline
        self._session: Session | None = None
        self._asked_at = 0.0
        self.asked = False
        """Whether an answer is due."""

    def ask_reset(self, task: Task, seed: int) -> None:
        """Take a clean sandbox and ask for the task's scene."""
        self._ask(self._clean(), "reset", {"scene": task.scene, "seed": seed})

    def ask_call(self, call: ToolCall) -> None:
        """Ask for a call to be carried out."""
        self._ask(self._present(), "call", call.to_json())

    def answer(self) -> Json:
        """Wait for what was asked; return the answer, which tells the application's state in the keys of ``VIEW``."""
        self.asked = False
        return self._present().receive(self._deadline)

    def artifacts(self) -> dict[str, bytes]:
        """Return the files that the agent has made."""
        files = self._present().request("artifacts", {}, self._deadline)["artifacts"]
        return {name: base64.b64decode(data) for name, data in files.items()}

    def snapshot(self) -> str:
        """Return the application's state as base64."""
        return self._present().request("snapshot", {}, self._deadline)["snapshot"]

    def restore(self, snapshot: str) -> None:
        """Take a clean sandbox and put it into the state of a snapshot."""
        self.asked = False
        self._clean().request("restore", {"snapshot": snapshot}, self._deadline)

    def fileno(self) -> int | None:
        """Return a descriptor that is readable once ``answer`` would not wait; ``None``: it would not."""
        return self._session.fileno() if self.asked and self._session is not None else None

    def seconds_left(self) -> float:
        """Return how long the sandbox may still take for what it was asked."""
        return self._asked_at + self._deadline - time.monotonic()

    @property
    def facts(self) -> Json:
        """What a trace should tell of the sandbox."""
        return self._session.facts if self._session is not None else {}

    @property
    def session(self) -> Session | None:
        """The open session."""
        return self._session

    def close(self) -> None:
        """End the sandbox; the next ``ask_reset`` or ``restore`` takes another. May be called again."""
        session, self._session, self.asked = self._session, None, False
        if session is not None:
            session.close()

    def _clean(self) -> Session:
        if self._session is None:
            self._session = open_runtime(self._runtime, **self._options).open(self._target)
        self._session.renew()
        return self._session

    def _present(self) -> Session:
        if self._session is None:
            raise SandboxError("there is no sandbox")
        return self._session

    def _ask(self, session: Session, operation: str, payload: Json) -> None:
        self._asked_at = time.monotonic()
        session.send(operation, payload)
        self.asked = True
