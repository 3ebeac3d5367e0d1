"""Three ways of writing the same calls: each samples valid ones, reads what it wrote, and refuses the rest."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from makerspace.envs.actions import CallDict, NotEncodable, TextView, ToolView, refusal
from makerspace.envs.discrete import BINS, DiscreteView, numbers_in, words_in
from makerspace.envs.episode import SUBMIT_TOOL
from makerspace.envs.sampling import sample_arguments
from makerspace.simulators import APPLICATIONS, application_class
from makerspace.simulators.base import ToolCall, ToolFault, ToolResult
from makerspace.simulators.tools import Tool


class Corner(BaseModel):
    """A corner."""

    x: Annotated[float, Field(ge=0, lt=5)]
    name: Literal["a", "b"] = "a"


def everything(
    count: Annotated[int, Field(gt=2, le=4)],
    small: Annotated[float, Field(gt=0, lt=0.001)],
    big: Annotated[float, Field(ge=1e6)],
    below: Annotated[int, Field(lt=-7)],
    kind: Literal["x", "y", 3],
    path: list[Annotated[list[float], Field(min_length=2, max_length=2)]],
    corners: Annotated[list[Corner], Field(min_length=2, max_length=3)],
    label: Annotated[str, Field(min_length=12, max_length=20)],
    short: Annotated[str, Field(max_length=1)] = "",
    named: Annotated[str, Field(examples=["north wall"])] = "",
    flag: bool = False,
    free: float = 0.0,
    table: dict[str, int] | None = None,
    nothing: None = None,
):
    """Take one argument of every kind."""


def measure(what: str, scale: float = 1.0, exact: bool = False):
    """Measure."""


TOOLS = {tool.name: tool for tool in (Tool(everything), Tool(measure), SUBMIT_TOOL)}
EVERY_TOOL = {f"{name}.{tool.name}": tool for name in APPLICATIONS for tool in application_class(name).tools()} | TOOLS


@pytest.mark.parametrize("name", EVERY_TOOL)
def test_sampled_arguments_are_valid(name):
    random = np.random.default_rng(0)
    tool = EVERY_TOOL[name]
    for _ in range(40):
        tool.validate(sample_arguments(tool.parameters, random))


@pytest.mark.parametrize("view", [TextView, ToolView, DiscreteView])
def test_sampled_actions_are_valid_calls_of_all_tools(view):
    view = view(tuple(TOOLS.values()))
    view.space.seed(0)
    view.see("Cut 3 pieces of 2.5 mm named 'end a' from /stock/bar-1.txt.", "ready in out.csv")
    names = set()
    for _ in range(60):
        action = view.space.sample()
        assert action in view.space
        call = view.parse(action)
        TOOLS[call.name].validate(call.arguments)
        names.add(call.name)
    assert names == set(TOOLS)


@pytest.mark.parametrize("view", [TextView, ToolView, DiscreteView])
def test_a_view_reads_what_it_wrote(view):
    view = view(tuple(TOOLS.values()))
    view.see("Measure 'the lid' at scale 2.5", "")
    for call in (ToolCall("measure", {"what": "the lid", "scale": 2.5, "exact": True}), ToolCall("submit", {})):
        action = view.encode(call)
        assert action in view.space
        assert view.parse(action) == call


@given(what=st.text(), scale=st.floats(allow_nan=False, allow_infinity=False), exact=st.booleans())
def test_text_and_tool_views_write_any_value(what, scale, exact):
    call = ToolCall("measure", {"what": what, "scale": scale, "exact": exact})
    for view in (TextView(tuple(TOOLS.values())), ToolView(tuple(TOOLS.values()))):
        assert view.parse(view.encode(call)) == call


def test_a_call_without_an_action_is_told():
    discrete, tool = DiscreteView(tuple(TOOLS.values())), ToolView(tuple(TOOLS.values()))
    for call in (ToolCall("fly"), ToolCall("measure", {"what": "never read"}), ToolCall("measure", {"wht": ""})):
        with pytest.raises(NotEncodable):
            discrete.encode(call)
    with pytest.raises(NotEncodable):
        tool.encode(ToolCall("fly"))


@pytest.mark.parametrize(
    "action",
    [
        None,
        7,
        [],
        {},
        {"tool": 99, "arguments": "{}"},
        {"tool": -1, "arguments": "{}"},
        {"tool": float("nan"), "arguments": "{}"},
        {"tool": "measure", "arguments": "{}"},
        {"tool": 0, "arguments": None},
        {"tool": 0, "arguments": "[1]"},
        {"tool": 0, "arguments": '{"a": NaN}'},
    ],
    ids=str,
)
def test_a_tool_action_of_another_shape_is_an_error_result(action):
    result = ToolView(tuple(TOOLS.values())).parse(action)
    assert isinstance(result, ToolResult)
    assert result.error.code in ("malformed", "unknown_tool")


@pytest.mark.parametrize(
    "action", [None, 3, "x", [], [0], np.zeros(99, int), np.full(15, 10**6), np.full(15, -1), np.zeros(15)], ids=str
)
def test_a_discrete_action_of_another_shape_is_an_error_result(action):
    view = DiscreteView(tuple(TOOLS.values()))
    assert view.space.shape == (15,)
    assert view.parse(action).error.code == "malformed"
    assert isinstance(view.parse(np.zeros(15, int)), ToolCall)


def test_the_mask_hides_bins_that_no_tool_uses():
    view = DiscreteView((Tool(measure), SUBMIT_TOOL))
    view.see("Measure 'lid' or 'base'", "")
    tools, what, scale, exact = np.split(view.mask(), [2, 2 + BINS, 2 + 2 * BINS])
    assert tools.all()
    assert what.sum() == 3, "two words, or for submit: nothing and two words"
    assert 5 < scale.sum() < BINS
    assert exact.sum() == 3, "left out, false, true"
    full = view.encode(ToolCall("measure", {"what": "base"}))
    assert full.tolist() == [0, 1, 0, 0]


def test_choices_follow_what_was_read_last():
    view = DiscreteView((Tool(measure), SUBMIT_TOOL))
    view.see("Find it.", "total 3\nsrc/main.py 'old name'")
    assert view.parse([0, 0, 0, 0]).arguments["what"] == "old name"
    assert view.parse([0, 1, 0, 0]).arguments["what"] == "src/main.py"
    view.see("Find it.", "nothing here")
    assert view.parse([0, 0, 0, 0]).arguments == {"what": ""}


def test_numbers_and_words_are_found():
    assert numbers_in("a 40x30x5.5 plate at (-3, 4), M6 and v1.2, 1.5.") == [40, 30, 5.5, -3, 4, 1.5]
    assert words_in("Move 'my file' to \"new dir\" and `x`, then ./run.sh or data/a-b.csv, e.g. notes.") == [
        "my file",
        "new dir",
        "x",
        "./run.sh",
        "data/a-b.csv",
        "e.g",
    ]


def test_the_environments_own_refusals():
    assert refusal(TOOLS, ToolCall("measure", {"wrong": 1})) is None, "the application answers for its tools"
    assert refusal(TOOLS, ToolCall("measur")).error.nearest[0] == "measure"
    assert refusal(TOOLS, ToolCall("submit", {"answer": 3})).error.code == "bad_argument"
    assert refusal(TOOLS, ToolCall("submit", {"answer": "3"})) is None


def test_masks_of_gymnasium_still_work():
    space = CallDict([(name, tool.parameters) for name, tool in TOOLS.items()], seed=0)
    mask = {"tool": np.array([0, 1, 0], np.int8), "arguments": (3, None)}
    assert space.sample(mask=mask)["tool"] == 1
    assert len(TextView(tuple(TOOLS.values())).space.sample(mask=(3, None))) == 3


def test_sampled_arguments_that_cannot_fit_are_noticed():
    """The check itself: validation refuses what a sampler must not produce."""
    with pytest.raises(ToolFault):
        TOOLS["everything"].validate({"count": 2})
