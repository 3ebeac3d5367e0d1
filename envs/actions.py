"""Action views: the same tool calls, written in the three ways in which learners act.

    view        action                                     for
    "text"      a string that holds an OpenAI-style call   language models
    "tool"      {"tool": index, "arguments": JSON text}    programs
    "discrete"  MultiDiscrete([tools, bin, bin, ...])      PPO of stable-baselines3, CleanRL (see ``discrete.py``)

A view parses any action into a call or an error result, encodes a call as an action, and has a space whose samples are
valid calls. It knows the tools' schemas, nothing of what they do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Protocol

import numpy as np
from gymnasium.spaces import Dict, Discrete, Space
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from numpy.typing import NDArray

from ..simulators.base import Json, ToolCall, ToolFault, ToolResult
from ..simulators.tools import Tool, nearest, shown
from .parsing import LONGEST_ACTION, parse_arguments, parse_call
from .sampling import sample_arguments
from .spaces import UnicodeText
from .tasks.base import SUBMIT


class NotEncodable(ValueError):
    """The view has no action for this call."""


class ActionView(Protocol):
    """One way of writing calls."""

    name: ClassVar[str]
    space: Space[Any]

    def see(self, instruction: str, text: str) -> None:
        """Take note of what the agent has read: the instruction and the latest observation."""
        ...

    def parse(self, action: Any) -> ToolCall | ToolResult:
        """Return the call that an action makes, or an error result."""
        ...

    def encode(self, call: ToolCall) -> Any:
        """Return the action that makes this call.

        Raises:
            NotEncodable: If there is none.
        """
        ...

    def mask(self) -> NDArray[np.bool_] | None:
        """Return which choices make sense now, as one flat array; ``None`` for views without choices."""
        ...


def call_text(call: ToolCall) -> str:
    """Return the OpenAI-style text of a call."""
    return json.dumps(call.to_json(), ensure_ascii=False)


def refusal(tools: Mapping[str, Tool], call: ToolCall) -> ToolResult | None:
    """Return why a call is refused before it is sent, if it is: no such tool, or a ``submit`` with other arguments."""
    if call.name not in tools:
        like = nearest(call.name, tools)
        return ToolResult.failure(
            "unknown_tool", f"there is no tool {shown(call.name)}", f"tools: {', '.join(tools)}", like
        )
    if call.name != SUBMIT:
        return None
    try:
        tools[SUBMIT].validate(call.arguments)
    except ToolFault as fault:
        return fault.result
    return None


class CallText(UnicodeText):
    """Strings; the sampled ones are valid calls of the given tools."""

    def __init__(self, schemas: Sequence[tuple[str, Json]], *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(LONGEST_ACTION, seed=seed)
        self.schemas = tuple(schemas)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return the text of a random valid call; with ``mask`` or ``probability`` do as ``Text.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        name, schema = self.schemas[int(self.np_random.integers(len(self.schemas)))]
        return call_text(ToolCall(name, sample_arguments(schema, self.np_random)))


class CallDict(Dict):
    """``{"tool": index, "arguments": JSON text}``; the sampled arguments fit the sampled tool."""

    def __init__(self, schemas: Sequence[tuple[str, Json]], *, seed: int | None = None) -> None:
        super().__init__({"tool": Discrete(len(schemas)), "arguments": UnicodeText(LONGEST_ACTION)}, seed=seed)
        self.schemas = tuple(schemas)

    def sample(self, mask: Any = None, probability: Any = None) -> Json:
        """Return a random valid call; with ``mask`` or ``probability`` independent samples, as ``Dict.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        tool = self.spaces["tool"].sample()
        arguments = sample_arguments(self.schemas[int(tool)][1], self.spaces["arguments"].np_random)
        return {"tool": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}


class CallDictBatch(Dict):
    """``n`` calls as a dictionary of arrays; every sampled one is valid."""

    def __init__(self, single: CallDict, n: int) -> None:
        parts = {key: batch_space(space, n) for key, space in single.spaces.items()}
        super().__init__(parts)
        self.singles = [deepcopy(single) for _ in range(n)]
        self.seed(int(deepcopy(single.np_random).integers(1 << 31)))

    def seed(self, seed: int | dict[str, Any] | None = None) -> dict[str, Any]:
        """Seed every part and every sampler."""
        seeds = super().seed(seed)
        for single in getattr(self, "singles", ()):
            single.seed(int(self.np_random.integers(1 << 31)))
        return seeds

    def sample(self, mask: Any = None, probability: Any = None) -> Json:
        """Return ``n`` random valid calls; with ``mask`` or ``probability`` independent samples, as ``Dict.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        single, n = self.singles[0], len(self.singles)
        empty = create_empty_array(single, n)
        return dict(concatenate(single, [one.sample() for one in self.singles], empty))  # pyright: ignore[reportArgumentType, reportCallIssue]


@batch_space.register(CallDict)
def _batch(space: CallDict, n: int = 1) -> CallDictBatch:  # pyright: ignore[reportUnusedFunction]
    return CallDictBatch(space, n)


class TextView:
    """An action is a string that holds one call."""

    name: ClassVar[str] = "text"

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.space: Space[Any] = CallText([(tool.name, tool.parameters) for tool in tools])

    def see(self, instruction: str, text: str) -> None:
        """Do nothing: a text view needs no context."""

    def parse(self, action: Any) -> ToolCall | ToolResult:
        """Read the call out of the text; see ``parse_call``."""
        return parse_call(action if isinstance(action, str) else str(action))

    def encode(self, call: ToolCall) -> str:
        """Return the call as text."""
        return call_text(call)

    def mask(self) -> None:
        """Return nothing."""


class ToolView:
    """An action is a tool's index and its arguments as JSON text."""

    name: ClassVar[str] = "tool"

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.names = [tool.name for tool in tools]
        self.space: Space[Any] = CallDict([(tool.name, tool.parameters) for tool in tools])

    def see(self, instruction: str, text: str) -> None:
        """Do nothing: a tool view needs no context."""

    def parse(self, action: Any) -> ToolCall | ToolResult:
        """Read the arguments; an index outside the list or another shape is an error result."""
        try:
            index, text = int(action["tool"]), action["arguments"]
            if not 0 <= index < len(self.names):
                return ToolResult.failure(
                    "unknown_tool", f"there is no tool {index}", f"tools are numbered 0 to {len(self.names) - 1}"
                )
        except (TypeError, KeyError, ValueError, IndexError, OverflowError):
            return ToolResult.failure(
                "malformed", "an action is a dictionary of 'tool' (an index) and 'arguments' (JSON text)"
            )
        arguments = (
            parse_arguments(text)
            if isinstance(text, str)
            else ToolResult.failure("malformed", "'arguments' must be JSON text")
        )
        return arguments if isinstance(arguments, ToolResult) else ToolCall(self.names[index], arguments)

    def encode(self, call: ToolCall) -> Json:
        """Return the tool's index and the arguments as JSON text."""
        if call.name not in self.names:
            raise NotEncodable(f"no tool {call.name!r} in this environment")
        return {
            "tool": np.int64(self.names.index(call.name)),
            "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
        }

    def mask(self) -> None:
        """Return nothing."""
