"""The one environment: parse the action, call the tool, score the end, record everything. No domain appears here.

1. An episode is a task. ``reset`` makes it, puts the application into its scene and tells the instruction.
2. A step is a call. What the agent does wrong is answered with text and status ``error``; the step counts.
3. ``submit``, a tool that the environment adds, ends the episode (``terminated``, solved or not); the step limit ends it too (``truncated``).
   Both are scored, once, outside of the sandbox: the reward of the last step is the total in [0, 1], of every other step 0.
4. A sandbox that fails ends the episode (``truncated``) with ``info["infra_error"]`` and ``info["reward_valid"]`` False: such a step says nothing
   about the agent. The next ``reset`` starts in a fresh sandbox.

The environment does not know what tools do, how work is scored, or where the application runs.
"""

from __future__ import annotations

import base64
import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict

from ..containers.runtimes import open_runtime
from ..containers.session import DEADLINE, SandboxError, Session, Target
from ..rewards.base import Outcome
from ..simulators import application_class
from ..simulators.base import Json, ToolCall, ToolFault, ToolResult
from ..simulators.tools import nearest, shown
from .actions import ActionView, TextView, ToolView
from .discrete import DiscreteView
from .episode import NO_VIEW, SUBMIT_TOOL, UNREADABLE, Episode
from .observation import MOST_STEPS, STATED_NUMBERS, observation_space, observe, text_of
from .recording import Recorder
from .scoring import shared_scorer
from .tasks import family as family_of
from .tasks.base import SPLITS, SUBMIT, Task

VIEWS: dict[str, type[ActionView]] = {"tool": ToolView, "text": TextView, "discrete": DiscreteView}
INDICES = 1 << 31
"""Tasks are drawn with an index below this."""
OPTIONS = ("task_id", "split", "index", "difficulty")
"""What ``reset`` understands in its ``options``."""

StepReturn = tuple[Json, float, bool, bool, Json]


class ToolEnv(gymnasium.Env[Json, Any]):
    """An application, a task and a budget of calls.

    Actions: see ``envs/actions.py``. Observations: see ``envs/observation.py``. Reward: the task's total in [0, 1] at the last step, 0 before.

    Args:
        family: The task family, such as ``"cad.plate"``.
        action_view: ``"tool"``, ``"text"`` or ``"discrete"``.
        runtime: ``"process"`` (a crash ends a child, not the caller) or ``"inline"`` (same process).
        split: Whose tasks are drawn: ``"train"``, ``"validation"`` or ``"test"``.
        difficulty: In [0, 1]; ``None``: drawn uniformly for each episode.
        render_mode: ``None`` or ``"ansi"``.
        trace: A directory for traces; ``None``: none are written.
        images: Whether observations hold the application's picture.
        max_steps: Calls per episode; ``None``: the family's own limit.
        deadline: Seconds that one call may take.
        features: Length of ``observation["features"]``, to make families alike; ``None``: as many as there are.

    Raises:
        KeyError: If there is no such family.
        ValueError: If another argument is out of range.

    Example:
        >>> import gymnasium, makerspace  # doctest: +SKIP
        >>> env = gymnasium.make("makerspace/cad.plate-v0", action_view="text")  # doctest: +SKIP
        >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
        >>> observation, reward, terminated, truncated, info = env.step('{"name": "submit", "arguments": {}}')  # doctest: +SKIP
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}

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
    ) -> None:
        self._arguments = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        self._family = family_of(family)
        _check_arguments(action_view, split, difficulty, render_mode, max_steps)
        application = application_class(self._family.application)
        self._tools = (*application.tools(), SUBMIT_TOOL)
        self._by_name = {tool.name: tool for tool in self._tools}
        self._view = VIEWS[action_view](self._tools)
        self._runtime, self._split, self._difficulty = runtime, split, difficulty
        self._max_steps, self._deadline = max_steps, deadline
        self.render_mode = render_mode
        self.action_space = self._view.space
        width = len(application.feature_names) + STATED_NUMBERS if features is None else features
        self.observation_space: Dict = observation_space(width, action_view != "discrete", images)
        options = {"action_view": action_view, "max_steps": max_steps, "images": images}
        self._recorder = Recorder(trace, f"makerspace/{family}-v0", application.tools(), options, runtime)
        self._session: Session | None = None
        self._episode: Episode | None = None
        self._waiting: str = ""
        """What the session was asked and has not answered yet: ``reset``, ``call`` or nothing."""
        self._acting = False
        """Whether ``begin`` was called and ``finish`` was not."""
        self._outcome: Outcome | None = None
        self._since = 0.0

    # The schedule

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Json, Json]:
        """Begin an episode.

        Args:
            seed: Seeds the drawing of tasks, as Gymnasium defines it.
            options: ``task_id`` (a whole task), or any of ``split``, ``index`` and ``difficulty``; what is missing is taken from the
                environment's arguments or drawn.

        Returns:
            The first observation and info. A sandbox that cannot be had is told in ``info["infra_error"]``; the first step then truncates.

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
        """Do the first half of ``reset``: choose the task and ask the sandbox for it, without waiting for the answer."""
        super().reset(seed=seed)
        task = self._choose(dict(options or {}))
        self._episode, self._outcome = Episode(task, self._max_steps or task.max_steps), None
        self._acting = False
        try:
            self._ask_for_reset()
        except SandboxError:
            self._drop_session()  # the second half tries once more

    def finish_reset(self) -> tuple[Json, Json]:
        """Do the second half of ``reset``: wait for the sandbox and show its view."""
        episode = self._needed()
        try:
            episode.view = self._receive_view()
        except SandboxError:
            episode.view = self._second_chance(episode)
        self._recorder.start(episode)
        return self._shown()

    def begin(self, action: Any) -> None:
        """Do the first half of ``step``: read the action and send the call, without waiting for the answer."""
        episode = self._needed()
        if episode.over or self._acting:
            raise ResetNeeded("the episode is over: call reset()" if episode.over else "finish() must follow begin()")
        self._acting, self._since = True, time.monotonic()
        episode.step += 1
        read = self._view.parse(action)
        episode.call = read if isinstance(read, ToolCall) else None
        refused = read if isinstance(read, ToolResult) else self._refusal(read)
        episode.calls.append(episode.call.name[:100] if episode.call else UNREADABLE)
        self._recorder.action(episode.step, action, episode.call, refused.error if refused and not episode.call else None)
        if refused:
            episode.result = refused
        elif not episode.infra_error:
            self._send(episode)

    def finish(self) -> StepReturn:
        """Do the second half of ``step``: wait for the result, score if this was the end, record, and show."""
        episode = self._needed()
        if not self._acting:
            raise ResetNeeded("finish() follows begin()")
        self._acting = False
        if self._waiting:
            self._receive(episode)
        episode.truncated = bool(episode.infra_error) or (not episode.terminated and episode.step >= episode.max_steps)
        if episode.over and not episode.infra_error:
            self._score(episode)
        self._recorder.result(episode, 1000 * (time.monotonic() - self._since))
        if self._outcome is not None:
            self._recorder.verdict(episode, self._outcome)
        observation, info = self._shown()
        return observation, episode.reward, episode.terminated, episode.truncated, info

    def fileno(self) -> int | None:
        """Return a descriptor that is readable once ``finish`` or ``finish_reset`` would not wait for the sandbox; ``None``: they would not."""
        return self._session.fileno() if self._waiting and self._session is not None else None

    def seconds_left(self) -> float:
        """Return how long the sandbox may still take for what it was asked; it is lost after that."""
        return self._since + self._deadline - time.monotonic()

    def abandon(self) -> None:
        """Give up what the sandbox was asked; only a reset can follow."""
        self._acting = False
        self._drop_session()

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the instruction, the last call with its result, and the application's view as text."""
        if self.render_mode != "ansi":
            return None
        episode = self._needed()
        call = f"> {episode.call.name} {json.dumps(dict(episode.call.arguments), ensure_ascii=False)}" if episode.call else ""
        return "\n".join(part for part in (episode.task.instruction, call, episode.result.text, episode.view["text"]) if part)

    def close(self) -> None:
        """End the sandbox and finish the trace. May be called again."""
        session, self._session, self._waiting = self._session, None, ""
        self._recorder.close()
        if session is not None:
            session.close()

    # Beyond Gymnasium

    @property
    def task(self) -> Task:
        """The running episode's task, hidden goal included: for trainers and tests, not for agents."""
        return self._needed().task

    @property
    def episode(self) -> Episode:
        """The running episode as data (last call, its result, the application's view): for those around the environment, not for agents."""
        return self._needed()

    @property
    def outcome(self) -> Outcome | None:
        """What was scored at the end of the episode; ``None`` before."""
        return self._outcome

    @property
    def last_result(self) -> ToolResult:
        """The result of the last call, data included."""
        return self._needed().result

    @property
    def trace_path(self) -> Path | None:
        """The file of the running episode's trace, or of the last one's."""
        return self._recorder.path

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
        if self._acting or self._waiting or self._session is None:
            raise ResetNeeded("a snapshot is taken between steps of a running environment")
        application = self._session.request("snapshot", {}, self._deadline)["snapshot"]
        return json.dumps({"episode": episode.to_json(), "application": application, "history": self._recorder.history}).encode()

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of this family, also one of another environment or process.

        Raises:
            SandboxError: If the sandbox fails.
            ValueError: If the snapshot is of another family.
        """
        data = json.loads(snapshot)
        episode = Episode.from_json(data["episode"], self._family.from_id(data["episode"]["task_id"]))
        session = self._renewed()
        session.request("restore", {"snapshot": data["application"]}, self._deadline)
        self._episode, self._outcome, self._acting, self._waiting = episode, None, False, ""
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
        solution = self._family.oracle(self.task)
        try:
            call = next(solution)
            while True:
                yield self.encode(call)
                if self._needed().over:
                    return
                call = solution.send(self._needed().result)
        except StopIteration:
            return
        finally:
            solution.close()

    # The parts of the schedule

    def _needed(self) -> Episode:
        if self._episode is None:
            raise ResetNeeded("call reset() first")
        return self._episode

    def _choose(self, options: Json) -> Task:
        unknown = [key for key in options if key not in OPTIONS]
        if unknown:
            raise ValueError(f"reset does not know the option {unknown[0]!r}; options: {', '.join(OPTIONS)}; nearest: {nearest(unknown[0], OPTIONS)}")
        if options.get("task_id") is not None:
            return self._family.from_id(options["task_id"])
        index = options["index"] if options.get("index") is not None else self.np_random.integers(INDICES)
        difficulty = self._difficulty if options.get("difficulty") is None else options["difficulty"]
        difficulty = self.np_random.uniform() if difficulty is None else difficulty
        return self._family.task(int(index), options.get("split") or self._split, float(difficulty))

    def _renewed(self) -> Session:
        """Return the session with a clean sandbox."""
        if self._session is None:
            target = Target("makerspace.simulators.service:ApplicationService", {"application": self._family.application})
            self._session = open_runtime(self._runtime).open(target)
        self._session.renew()
        return self._session

    def _ask_for_reset(self) -> None:
        episode = self._needed()
        self._waiting = ""
        self._since = time.monotonic()
        self._renewed().send("reset", {"scene": episode.task.scene, "seed": episode.seed})
        self._waiting = "reset"

    def _receive_view(self) -> Json:
        answer = self._answer()
        return {key: answer[key] for key in NO_VIEW}

    def _answer(self) -> Json:
        self._waiting = ""
        if self._session is None:
            raise SandboxError("there is no sandbox")
        return self._session.receive(self._deadline)

    def _second_chance(self, episode: Episode) -> Json:
        """Try the reset once more in another sandbox; an episode that cannot begin is lost, and its first step says so."""
        try:
            self._drop_session()
            self._ask_for_reset()
            return self._receive_view()
        except SandboxError as failure:
            episode.infra_error = f"{type(failure).__name__}: {failure}"
            return dict(NO_VIEW)

    def _drop_session(self) -> None:
        session, self._session, self._waiting = self._session, None, ""
        if session is not None:
            session.close()

    def _refusal(self, call: ToolCall) -> ToolResult | None:
        """Return why a call is refused by the environment itself: no such tool, or a ``submit`` with other arguments."""
        tool = self._by_name.get(call.name)
        if tool is None:
            return ToolResult.failure("unknown_tool", f"there is no tool {shown(call.name)}", f"tools: {', '.join(self._by_name)}", nearest(call.name, self._by_name))
        if call.name == SUBMIT:
            try:
                tool.validate(call.arguments)
            except ToolFault as fault:
                return fault.result
        return None

    def _send(self, episode: Episode) -> None:
        call = episode.call
        if call is None or self._session is None:
            return
        if call.name == SUBMIT:
            episode.terminated, episode.answer = True, str(call.arguments.get("answer", ""))
            episode.result = ToolResult(True, "submitted")
            return
        try:
            self._session.send("call", call.to_json())
            self._waiting = "call"
        except SandboxError as failure:
            self._lose(episode, failure)

    def _receive(self, episode: Episode) -> None:
        try:
            answer = self._answer()
        except SandboxError as failure:
            self._lose(episode, failure)
        else:
            episode.result = ToolResult.from_json(answer["result"])
            episode.view = {key: answer[key] for key in NO_VIEW}

    def _lose(self, episode: Episode, failure: SandboxError) -> None:
        episode.infra_error = f"{type(failure).__name__}: {failure}"
        episode.result = ToolResult(False, "the sandbox was lost")
        episode.terminated = False
        self._recorder.fault(failure)
        self._drop_session()

    def _score(self, episode: Episode) -> None:
        """Score what the agent left."""
        if self._session is None:
            return
        try:
            files = self._session.request("artifacts", {}, self._deadline)["artifacts"]
        except SandboxError as failure:
            self._lose(episode, failure)
            episode.truncated = True
            return
        self._outcome = episode.outcome({name: base64.b64decode(data) for name, data in files.items()})
        scorer = shared_scorer(self._family.application, self._runtime)
        episode.score, episode.infra_error = scorer.score(episode.task.id, self._outcome)

    def _shown(self) -> tuple[Json, Json]:
        """Return observation and info of the present state, in fresh objects."""
        episode = self._needed()
        observation = observe(episode, self.observation_space)
        self._view.see(episode.task.instruction, text_of(episode))
        info = episode.info(self._family.reward.names)
        mask = self._view.mask()
        return observation, info if mask is None else {**info, "action_mask": mask}


def play_oracle(env: gymnasium.Env[Any, Any], seed: int | None = None, options: Json | None = None) -> StepReturn:
    """Reset, play the family's own solution to its end, and return what the last step returned."""
    env.reset(seed=seed, options=options)
    last: StepReturn | None = None
    for action in env.unwrapped.oracle():  # type: ignore[attr-defined]
        last = env.step(action)  # type: ignore[assignment]
        if last[2] or last[3]:
            return last
    raise RuntimeError("the oracle stopped before the episode ended")


def _check_arguments(action_view: str, split: str, difficulty: float | None, render_mode: str | None, max_steps: int | None) -> None:
    if action_view not in VIEWS:
        raise ValueError(f"no action view {action_view!r}; views: {', '.join(VIEWS)}; nearest: {nearest(action_view, VIEWS)}")
    if split not in SPLITS:
        raise ValueError(f"no split {split!r}; splits: {', '.join(SPLITS)}; nearest: {nearest(split, SPLITS)}")
    if difficulty is not None and not 0.0 <= difficulty <= 1.0:
        raise ValueError(f"difficulty is in [0, 1], not {difficulty}")
    if render_mode not in (None, *ToolEnv.metadata["render_modes"]):
        raise ValueError(f"no render mode {render_mode!r}; modes: None, 'ansi'")
    if max_steps is not None and not 1 <= max_steps <= MOST_STEPS:
        raise ValueError(f"max_steps is in 1 .. {MOST_STEPS}, not {max_steps}")
