"""Random programs for the application, most of which can be built in part: what the property tests run."""

from __future__ import annotations

from hypothesis import strategies as st

from makerspace.simulators.base import ToolCall

lengths = st.sampled_from((2.0, 4.0, 5.0, 7.5, 10.0, 20.0, 40.0))
places = st.sampled_from((0.0, 0.0, 5.0, -5.0, 12.0, -12.0, 30.0))
faces = st.sampled_from(("top", "bottom", "left", "right", "front", "back", "Extrude1.top", "Extrude2.bottom"))
selectors = st.sampled_from(("vertical", "top", "bottom", "all"))


def call(name: str, **arguments: st.SearchStrategy[object]) -> st.SearchStrategy[ToolCall]:
    return st.fixed_dictionaries(arguments).map(lambda values: ToolCall(name, values))


figures = st.one_of(
    call("rectangle", width=lengths, height=lengths, x=places, y=places),
    call("circle", diameter=lengths, x=places, y=places),
    call("polygon", sides=st.integers(3, 8), diameter=lengths, x=places, y=places),
)
extrusions = st.one_of(
    call("extrude", distance=lengths, operation=st.sampled_from(("join", "cut"))),
    call("extrude", operation=st.just("cut")),
)
features = st.one_of(
    call("hole", diameter=lengths, x=places, y=places, face=faces),
    call("hole", diameter=lengths, x=places, y=places, depth=lengths),
    call("fillet", radius=st.sampled_from((0.5, 1.0, 3.0)), edges=selectors),
    call("chamfer", size=st.sampled_from((0.5, 1.0, 3.0)), edges=selectors),
    call("pattern", kind=st.just("circular"), count=st.integers(2, 5)),
    call("pattern", kind=st.just("linear"), count=st.integers(2, 4), spacing=places, direction=st.sampled_from("xy")),
)
edits = st.one_of(
    call("undo"),
    call("measure"),
    call("export", format=st.sampled_from(("step", "stl", "brep"))),
    call("remove", feature=st.sampled_from(("Hole1", "Extrude2", "Circle1", "Fillet1"))),
    call(
        "set_parameter",
        feature=st.sampled_from(("Rectangle1", "Extrude1", "Hole1", "Fillet1")),
        parameter=st.sampled_from(("width", "x", "distance", "diameter", "radius")),
        value=lengths,
    ),
)
sketches = st.tuples(
    st.one_of(
        call("new_sketch", plane=st.sampled_from(("XY", "XZ", "YZ")), offset=places), call("new_sketch", face=faces)
    ),
    figures,
    extrusions,
).map(list)
first = [
    ToolCall("new_sketch", {"plane": "XY"}),
    ToolCall("rectangle", {"width": 40, "height": 30}),
    ToolCall("extrude", {"distance": 12}),
]
programs = st.lists(st.one_of(sketches, st.lists(st.one_of(features, edits), min_size=1, max_size=2)), max_size=4).map(
    lambda parts: first + [call for part in parts for call in part]
)
