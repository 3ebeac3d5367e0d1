"""The one environment: parse the action, call the tool, score the end, record everything. No domain appears here.

1. An episode is a task. ``reset`` makes it, puts the application into its scene and tells the instruction.
2. A step is a call. What the agent does wrong is answered with text and status ``error``; the step counts.
3. ``submit``, a tool that the environment adds, ends the episode (``terminated``, solved or not); the step limit ends
   it too (``truncated``). Both are scored, once, outside of the sandbox: the reward of the last step is the total in
   [0, 1], of every other step 0.
4. A sandbox that fails ends the episode (``truncated``) with ``info["infra_error"]`` and ``info["reward_valid"]``
   False: such a step says nothing about the agent. The next ``reset`` starts in a fresh sandbox.

The environment does not know what tools do, how work is scored, or where the application runs.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from ..containers.session import DEADLINE, SandboxError
from ..rewards.base import Outcome
from ..simulators import application_class
from ..simulators.base import Json, ToolCall, ToolResult
from ..simulators.tools import Tool, shown
from .actions import ActionView, TextView, ToolView, call_text, refusal
from .discrete import DiscreteView
from .episode import LOST, NO_VIEW, SUBMIT_TOOL, UNREADABLE, Episode
from .observation import STATED_NUMBERS, observation_space, observe, text_of
from .options import RENDER_MODES, check_arguments, check_isolation, choose_task
from .oracle import playback
from .recording import Recorder
from .scoring import shared_scorer
from .tasks import family as family_of
from .tasks.base import SUBMIT, Task
from .workplace import VIEW, Workplace

VIEWS: dict[str, Callable[[Sequence[Tool]], ActionView]] = {
    "tool": ToolView,
    "text": TextView,
    "discrete": DiscreteView,
}

StepReturn = tuple[Json, float, bool, bool, Json]


class ToolEnv(gymnasium.Env[Json, Any]):
    """An application, a task and a budget of calls.

    Actions: see ``envs/actions.py``. Observations: see ``envs/observation.py``. Reward: the task's total in [0, 1] at
        the last step, 0 before.

    Args:
        family: The task family, such as ``"cad.plate"``.
        action_view: ``"tool"``, ``"text"`` or ``"discrete"``.
        runtime: ``"process"`` (a crash ends a child, not the caller), ``"docker"`` (hardened containers) or
            ``"inline"`` (same process).
        split: Whose tasks are drawn: ``"train"``, ``"validation"`` or ``"test"``.
        difficulty: In [0, 1]; ``None``: drawn uniformly for each episode.
        render_mode: ``None`` or ``"ansi"``.
        trace: A directory for traces; ``None``: none are written.
        images: Whether observations hold the application's picture.
        max_steps: Calls per episode; ``None``: the family's own limit.
        deadline: Seconds that one call may take.
        features: Length of ``observation["features"]``, to make families alike; ``None``: as many as there are.
        runtime_options: Options of the runtime, such as ``{"reuse": 16}`` for ``"process"``.

    Raises:
        KeyError: If there is no such family.
        ValueError: If another argument is out of range.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
    }

    def __init__(
        self,
        family: str,
        action_view: str = "tool",
        runtime: str = "process",
        split: str = "train",
        difficulty: float | None = None,
        render_mode: str | None = None,
        trace: str | Path | None = None,
        images: bool = False,
        max_steps: int | None = None,
        deadline: float = DEADLINE,
        features: int | None = None,
        runtime_options: dict[str, Any] | None = None,
    ) -> None:
        self._arguments = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        self._family = family_of(family)
        check_arguments(VIEWS, action_view, split, difficulty, render_mode, max_steps)
        application = application_class(self._family.application)
        check_isolation(application, runtime, runtime_options)
        self._tools = (*application.tools(), SUBMIT_TOOL)
        self._by_name = {tool.name: tool for tool in self._tools}
        self._view: ActionView = VIEWS[action_view](self._tools)
        self._split, self._difficulty, self._max_steps, self._runtime = split, difficulty, max_steps, runtime
        self._runtime_options = runtime_options
        self._workplace = Workplace(self._family.application, runtime, deadline, runtime_options)
        self.render_mode = render_mode
        self.action_space = self._view.space
        width = len(application.feature_names) + STATED_NUMBERS if features is None else features
        self.observation_space = self._shape = observation_space(width, action_view != "discrete", images)
        options = {"action_view": action_view, "max_steps": max_steps, "images": images}
        self._recorder = Recorder(trace, f"makerspace/{family}-v0", application.tools(), options, runtime)
        self._episode: Episode | None = None
        self._outcome: Outcome | None = None
        self._began = 0.0
        self._acting = False
        """Whether ``begin`` was called and ``finish`` was not."""

    # The schedule

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Json, Json]:
        """Begin an episode.

        Args:
            seed: Seeds the drawing of tasks, as Gymnasium defines it.
            options: ``task_id`` (a whole task), or any of ``split``, ``index`` and ``difficulty``; what is missing is
                taken from the environment's arguments or drawn.

        Returns:
            The first observation and info. A sandbox that cannot be had is told in ``info["infra_error"]``; the first
            step then truncates.

        Raises:
            ValueError: If an option is unknown or out of range.
        """
        self.begin_reset(seed=seed, options=options)
        return self.finish_reset()

    def step(self, action: Any) -> StepReturn:
        """Carry out one action; see the module's docstring.

        Raises:
            ResetNeeded: If no episode is running.
        """
        self.begin(action)
        return self.finish()

    def begin_reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Do the first half of ``reset``: choose the task and ask the sandbox for it, without waiting."""
        super().reset(seed=seed)
        task = choose_task(self._family, dict(options or {}), self._split, self._difficulty, self.np_random)
        self._episode, self._outcome, self._acting = Episode(task, self._max_steps or task.max_steps), None, False
        try:
            self._workplace.ask_reset(task, self._episode.seed)
        except SandboxError:
            self._workplace.close()  # the second half tries once more

    def finish_reset(self) -> tuple[Json, Json]:
        """Do the second half of ``reset``: wait for the sandbox and show its view."""
        episode = self._needed()
        try:
            episode.view = _view(self._workplace.answer())
        except SandboxError:
            episode.view = self._second_chance(episode)
        self._recorder.start(episode, self._workplace.facts)
        return self._shown()

    def begin(self, action: Any) -> None:
        """Do the first half of ``step``: read the action and send the call, without waiting for the answer."""
        episode = self._needed()
        if episode.over or self._acting or self._workplace.asked:
            raise ResetNeeded("the episode is over: call reset()" if episode.over else "finish what was begun first")
        self._acting, self._began = True, time.monotonic()
        episode.step += 1
        read = self._view.parse(action)
        episode.call = read if isinstance(read, ToolCall) else None
        refused = read if isinstance(read, ToolResult) else refusal(self._by_name, read)
        episode.calls.append(episode.call.name[:100] if episode.call else UNREADABLE)
        self._recorder.action(
            episode.step, action, episode.call, None if not refused or episode.call else refused.error
        )
        if episode.infra_error or refused:
            episode.result = refused or LOST
        elif isinstance(read, ToolCall):
            self._send(episode, read)

    def finish(self) -> StepReturn:
        """Do the second half of ``step``: wait for the result, score if this was the end, record, and show."""
        episode = self._needed()
        if not self._acting:
            raise ResetNeeded("finish() follows begin()")
        self._acting = False
        if self._workplace.asked:
            self._receive(episode)
        episode.truncated = bool(episode.infra_error) or (not episode.terminated and episode.step >= episode.max_steps)
        if episode.over and not episode.infra_error:
            self._score(episode)
        self._recorder.result(episode, 1000 * (time.monotonic() - self._began))
        if self._outcome is not None:
            self._recorder.verdict(episode, self._outcome)
        observation, info = self._shown()
        return observation, episode.reward, episode.terminated, episode.truncated, info

    def fileno(self) -> int | None:
        """Return a descriptor that is readable once the second half would not wait; ``None``: it would not."""
        return self._workplace.fileno()

    def seconds_left(self) -> float:
        """Return how long the sandbox may still take for what it was asked; it is lost after that."""
        return self._workplace.seconds_left()

    def abandon(self) -> None:
        """Give up what the sandbox was asked; only a reset can follow."""
        self._acting = False
        self._workplace.close()

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the instruction, the last call with its result, and the application's view as text."""
        if self.render_mode != "ansi":
            return None
        episode = self._needed()
        call = f"> {call_text(episode.call)}" if episode.call else ""
        parts = (episode.task.instruction, call, episode.result.text, str(episode.view["text"]))
        return "\n".join(part for part in parts if part)

    def close(self) -> None:
        """End the sandbox and finish the trace. May be called again."""
        self._recorder.close()
        self._workplace.close()

    # Beyond Gymnasium

    @property
    def task(self) -> Task:
        """The running episode's task, hidden goal included: for trainers and tests, not for agents."""
        return self._needed().task

    @property
    def episode(self) -> Episode:
        """The running episode as data: last call, its result, the application's view. Not for agents."""
        return self._needed()

    @property
    def outcome(self) -> Outcome | None:
        """What was scored at the end of the episode; ``None`` before."""
        return self._outcome

    @property
    def trace_path(self) -> Path | None:
        """The file of the running episode's trace, or of the last one's."""
        return self._recorder.path

    def action_masks(self) -> NDArray[np.bool_] | None:
        """Return ``info["action_mask"]`` under the name that sb3-contrib's ``MaskablePPO`` asks for."""
        return self._view.mask()

    def tools(self) -> list[Json]:
        """Return all tools in OpenAI's function form, ``submit`` included."""
        return copy.deepcopy([tool.openai() for tool in self._tools])

    def encode(self, call: ToolCall) -> Any:
        """Return the action of this environment's view that makes a call now.

        Raises:
            NotEncodable: If the view has none.
        """
        return self._view.encode(call)

    def annotate(self, kind: str, data: Any) -> None:
        """Keep JSON data in the trace, beside the last step."""
        self._recorder.note(kind, data)

    def state_hash(self) -> str:
        """Return the digest of the application's present state."""
        return str(self._needed().view["state_hash"])

    def snapshot(self) -> bytes:
        """Return the running episode and the application's state as data.

        Raises:
            SandboxError: If the sandbox is lost.
        """
        episode = self._needed()
        if self._acting:
            raise ResetNeeded("a snapshot is taken between steps")
        application = self._workplace.snapshot()
        data = {"episode": episode.to_json(), "application": application, "history": self._recorder.history}
        return json.dumps(data).encode()

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of this family, also one of another environment or process.

        Raises:
            SandboxError: If the sandbox fails.
            ValueError: If the snapshot is of another family.
        """
        data = json.loads(snapshot)
        episode = Episode.from_json(data["episode"], self._family.from_id(data["episode"]["task_id"]))
        self._workplace.restore(data["application"])
        self._episode, self._outcome, self._acting = episode, None, False
        self._recorder.restart(episode, data["history"])
        self._view.see(episode.task.instruction, text_of(episode))

    def fork(self) -> ToolEnv:
        """Return an independent copy in the same state, with a sandbox and a trace of its own."""
        other = ToolEnv(**self._arguments)
        other.spec = self.spec
        other.np_random = copy.deepcopy(self.np_random)
        other.restore(self.snapshot())
        return other

    def oracle(self) -> Iterator[Any]:
        """Yield the family's own solution as actions; each must be stepped before the next is asked for.

        Example:
            >>> for action in env.oracle():  # doctest: +SKIP
            ...     observation, reward, terminated, truncated, info = env.step(action)
        """
        return playback(self)

    # The parts of the schedule

    def _needed(self) -> Episode:
        if self._episode is None:
            raise ResetNeeded("call reset() first")
        return self._episode

    def _second_chance(self, episode: Episode) -> Json:
        """Try the reset once more in another sandbox. An episode that cannot begin is lost: its first step says so."""
        try:
            self._workplace.close()
            self._workplace.ask_reset(episode.task, episode.seed)
            return _view(self._workplace.answer())
        except SandboxError as failure:
            episode.infra_error = f"{type(failure).__name__}: {failure}"
            return dict(NO_VIEW)

    def _send(self, episode: Episode, call: ToolCall) -> None:
        if call.name == SUBMIT:
            episode.terminated, episode.answer = True, str(call.arguments.get("answer", ""))
            episode.result = ToolResult(True, "submitted")
            return
        try:
            self._workplace.ask_call(call)
        except SandboxError as failure:
            self._lose(episode, failure)
        except (TypeError, ValueError) as unfit:
            episode.result = ToolResult.failure("limit", f"the call cannot be carried: {shown(str(unfit))}")

    def _receive(self, episode: Episode) -> None:
        try:
            answer = self._workplace.answer()
        except SandboxError as failure:
            self._lose(episode, failure)
        else:
            episode.result, episode.view = ToolResult.from_json(answer["result"]), _view(answer)

    def _lose(self, episode: Episode, failure: SandboxError) -> None:
        episode.infra_error = f"{type(failure).__name__}: {failure}"
        episode.result = LOST
        episode.terminated, episode.truncated = False, True
        self._recorder.fault(failure)
        self._workplace.close()

    def _score(self, episode: Episode) -> None:
        """Score what the agent left."""
        try:
            self._outcome = episode.outcome(self._workplace.artifacts())
        except SandboxError as failure:
            self._lose(episode, failure)
        else:
            scorer = shared_scorer(self._family.application, self._runtime, self._runtime_options)
            episode.score, episode.infra_error = scorer.score(episode.task.id, self._outcome)

    def _shown(self) -> tuple[Json, Json]:
        """Return observation and info of the present state, in fresh objects."""
        episode = self._needed()
        observation = observe(episode, self._shape)
        self._view.see(episode.task.instruction, text_of(episode))
        info = episode.info(self._family.reward.names)
        mask = self._view.mask()
        return observation, info if mask is None else {**info, "action_mask": mask}


def _view(answer: Json) -> Json:
    return {key: answer[key] for key in VIEW}
