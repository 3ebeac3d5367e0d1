from __future__ import annotations

import json
import math
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from makerspace.simulators import open_application
from makerspace.simulators.base import ToolCall
from makerspace.simulators.cad.app import Cad
from makerspace.simulators.cad.history import MAX_UNDO

from .conftest import Do
from .programs import programs


def volume(cad: Cad) -> float:
    return cad.call(ToolCall("measure")).data["volume"]


def test_a_plate_from_the_first_sketch_to_the_file(cad: Cad, do: Do) -> None:
    assert do("new_sketch", plane="XY").text == "Sketch1 ok: Sketch1 open"
    assert do("rectangle", width=80, height=50).text == "Rectangle1 ok: Sketch1 open"
    assert do("extrude", distance=8).text == "Extrude1 ok: volume 32000 mm3"
    assert do("hole", diameter=6, x=20, y=10).text == "Hole1 ok: volume 31774 mm3"
    assert do("hole", diameter=6, x=-20, y=10, depth=4).text == "Hole2 ok: volume 31661 mm3"
    assert do("measure").text == "size 80 x 50 x 8 mm, volume 31661 mm3, 9 faces, 18 edges"
    assert do("export", format="step").text == "exported part.step"
    assert set(cad.artifacts()) == {"part.brep", "tree.json", "part.step"}
    assert cad.observe().text == "Hole2: part 80 x 50 x 8 mm, volume 31661 mm3"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([("circle", {"diameter": 20}), ("extrude", {"distance": 10})], math.pi * 1000),
        ([("polygon", {"sides": 6, "diameter": 20}), ("extrude", {"distance": 10})], 1500 * math.sqrt(3)),
        (
            [("rectangle", {"width": 20, "height": 20}), ("circle", {"diameter": 10}), ("extrude", {"distance": 10})],
            4000 - math.pi * 250,
        ),
    ],
    ids=["cylinder", "hexagon", "frame"],
)
def test_volumes_follow_the_formulas(
    cad: Cad, do: Do, calls: list[tuple[str, dict[str, object]]], expected: float
) -> None:
    for name, arguments in [("new_sketch", {}), *calls]:
        assert do(name, **arguments).ok
    assert volume(cad) == pytest.approx(expected, rel=1e-9)


def test_fillets_and_chamfers_remove_what_the_formulas_say(cad: Cad, block: Do) -> None:
    block("fillet", radius=5, edges="vertical")
    assert volume(cad) == pytest.approx(32000 - (4 - math.pi) * 25 * 8, rel=1e-9)
    block("undo")
    block("chamfer", size=5, edges="vertical")
    assert volume(cad) == pytest.approx(32000 - 4 * 12.5 * 8, rel=1e-9)


def test_seams_and_smooth_edges_are_not_sharp(cad: Cad, block: Do) -> None:
    block("hole", diameter=10)
    block("fillet", radius=5, edges="vertical")
    assert not block("fillet", radius=1, edges="vertical").ok


@pytest.mark.parametrize(
    ("face", "low", "high"),
    [
        ("top", (-5, -5, 8), (5, 5, 11)),
        ("bottom", (-5, -5, -3), (5, 5, 0)),
        ("front", (-5, -28, -1), (5, -25, 9)),
        ("back", (-5, 25, -1), (5, 28, 9)),
        ("left", (-43, -5, -1), (-40, 5, 9)),
        ("right", (40, -5, -1), (43, 5, 9)),
        ("Extrude1.top", (-5, -5, 8), (5, 5, 11)),
        ("Extrude1.bottom", (-5, -5, -3), (5, 5, 0)),
    ],
)
def test_faces_lie_where_their_names_say(
    cad: Cad, block: Do, face: str, low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    y = 0 if low[2] in (8, -3) else 4
    block("new_sketch", face=face)
    block("rectangle", width=10, height=10, x=0, y=y)
    assert block("extrude", distance=3).ok
    whole = cad.call(ToolCall("measure")).data
    assert whole["low"] == pytest.approx([min(a, b) for a, b in zip(low, (-40, -25, 0), strict=True)], abs=1e-6)
    assert whole["high"] == pytest.approx([max(a, b) for a, b in zip(high, (40, 25, 8), strict=True)], abs=1e-6)


@pytest.mark.parametrize(("face", "length"), [("top", 8), ("bottom", 8), ("front", 50), ("right", 80)])
def test_holes_go_straight_through(cad: Cad, block: Do, face: str, length: float) -> None:
    y = 0 if face in ("top", "bottom") else 4
    assert block("hole", diameter=2, x=0, y=y, face=face).ok
    assert volume(cad) == pytest.approx(32000 - math.pi * length, rel=1e-9)


def test_a_pocket_and_a_hole_in_its_floor(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top")
    block("rectangle", width=40, height=30)
    assert block("extrude", distance=5, operation="cut").ok
    assert block("hole", diameter=10, depth=1, face="Extrude2.bottom").ok
    assert volume(cad) == pytest.approx(32000 - 6000 - math.pi * 25, rel=1e-9)


def test_patterns_repeat_the_last_or_the_named_feature(cad: Cad, block: Do) -> None:
    block("hole", diameter=4, x=20)
    assert "warning" not in block("pattern", kind="circular", count=6).text
    assert volume(cad) == pytest.approx(32000 - 6 * math.pi * 4 * 8, rel=1e-9)
    block("undo")
    block("hole", diameter=2, x=-30, y=-20)
    assert block("pattern", kind="linear", count=3, spacing=10, direction="y", feature="Hole1").ok
    assert volume(cad) == pytest.approx(32000 - 3 * math.pi * 4 * 8 - math.pi * 8, rel=1e-9)


def test_an_edit_regenerates_what_comes_after(cad: Cad, block: Do) -> None:
    block("hole", diameter=6, x=20, y=10)
    assert block("set_parameter", feature="Extrude1", parameter="distance", value=10).ok
    assert block("set_parameter", feature="Hole1", parameter="diameter", value=10).ok
    assert volume(cad) == pytest.approx(40000 - math.pi * 250, rel=1e-9)
    assert block("remove", feature="Hole1").ok
    assert volume(cad) == pytest.approx(40000)


def test_health_names_the_feature_that_warns(cad: Cad, block: Do) -> None:
    block("hole", diameter=6, x=39)
    block("hole", diameter=6, x=-20)
    health = {f["name"]: f["health"] for f in json.loads(cad.artifacts()["tree.json"])["features"]}
    assert health["Hole1"]["status"] == "warning"
    assert health["Hole2"] == {"status": "ok", "code": "", "message": "", "hint": ""}


def test_health_of_a_document_that_cannot_be_built(cad: Cad, block: Do) -> None:
    """Restored from elsewhere, a document may hold what no tool would have accepted."""
    for x in (20, 30):
        block("hole", diameter=6, x=x)
    state = json.loads(cad.snapshot())
    state["features"][3]["arguments"]["x"] = 500.0
    from makerspace.simulators.cad.build import health_of
    from makerspace.simulators.cad.document import features_of

    health = health_of(features_of(state["features"]))
    assert [h["status"] for h in health] == ["ok", "ok", "ok", "error", "upstream_failed"]
    assert health[3]["code"] == "kernel"
    assert health[4]["message"] == "Hole1 failed"


def test_undo_takes_back_every_change(cad: Cad, block: Do) -> None:
    seen = [cad.artifacts()]
    changes = [
        ("hole", {"diameter": 6}),
        ("set_parameter", {"feature": "Hole1", "parameter": "x", "value": 9}),
        ("remove", {"feature": "Hole1"}),
    ]
    for name, arguments in changes:
        block(name, **arguments)
        seen.append(cad.artifacts())
    for state in reversed(seen[:-1]):
        assert block("undo").ok
        assert cad.artifacts() == state


def test_undo_forgets_what_is_long_ago(cad: Cad, block: Do) -> None:
    for i in range(MAX_UNDO + 3):
        block("set_parameter", feature="Rectangle1", parameter="width", value=20 + i)
    undone = 0
    while block("undo").ok:
        undone += 1
    assert undone == MAX_UNDO


def test_a_scene_is_where_a_session_starts(cad: Cad) -> None:
    calls = [
        {"name": "new_sketch", "arguments": {}},
        {"name": "circle", "arguments": {"diameter": 10}},
        {"name": "extrude", "arguments": {"distance": 5}},
    ]
    view = cad.reset({"calls": calls}, 0)
    assert view.text == "Extrude1: part 10 x 10 x 5 mm, volume 393 mm3"
    assert not cad.call(ToolCall("undo")).ok
    with pytest.raises(ValueError, match="refused"):
        cad.reset({"calls": calls[1:]}, 0)


def test_a_drawing_shows_the_part(cad: Cad, block: Do) -> None:
    empty = Cad().render()
    svg = cad.render()
    assert svg.startswith(b"<svg")
    assert svg.count(b"<path") > 20 > empty.count(b"<path")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs)
def test_every_program_keeps_the_contract(program: list[ToolCall]) -> None:
    cad = Cad()
    cad.reset({}, 0)
    for call in program:
        before = cad.state_hash()
        result = cad.call(call)
        assert result.ok == (result.error is None)
        assert result.ok or cad.state_hash() == before
        assert all(math.isfinite(f) for f in cad.observe().features)
        assert len(cad.observe().features) == len(cad.feature_names)
    again = Cad()
    again.restore(cad.snapshot())
    assert (again.observe(), again.state_hash()) == (cad.observe(), cad.state_hash())
    assert again.artifacts() == cad.artifacts()
    while cad.call(ToolCall("undo")).ok:
        assert again.call(ToolCall("undo")).ok
    assert again.state_hash() == cad.state_hash()


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([t.name for t in Cad.tools()]),
    st.dictionaries(st.text(max_size=6), st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())),
)
def test_nonsense_is_answered(name: str, arguments: dict[str, object]) -> None:
    cad = Cad()
    cad.reset({}, 0)
    result = cad.call(ToolCall(name, arguments))
    assert result.ok or result.error is not None


PROGRAM = """
import hashlib, sys
from makerspace.simulators import open_application
from makerspace.simulators.base import ToolCall
app = open_application("cad")
assert "cadquery" not in sys.modules
app.reset({}, 0)
calls = [("new_sketch", {}), ("rectangle", {"width": 80, "height": 50}), ("extrude", {"distance": 8}),
         ("hole", {"diameter": 5, "x": 20}), ("pattern", {"kind": "circular", "count": 5}),
         ("fillet", {"radius": 100, "edges": "all"}), ("fillet", {"radius": 4, "edges": "vertical"}),
         ("new_sketch", {"face": "top"}), ("polygon", {"sides": 6, "diameter": 30}), ("extrude", {"distance": 10}),
         ("chamfer", {"size": 1, "edges": "top"}), ("export", {"format": "step"}), ("export", {"format": "stl"})]
for name, arguments in calls:
    print(app.call(ToolCall(name, arguments)).text, app.observe(), app.state_hash())
print({name: hashlib.sha256(data).hexdigest() for name, data in app.artifacts().items()})
"""


def test_two_processes_give_the_same_bytes() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert "part.step" in outputs[0]


FORKED = """
import os
from makerspace.simulators import open_application
from makerspace.simulators.base import ToolCall
app = open_application("cad")
app.reset({"calls": [{"name": "new_sketch"}, {"name": "circle", "arguments": {"diameter": 9}},
                     {"name": "extrude", "arguments": {"distance": 5}},
                     {"name": "hole", "arguments": {"diameter": 2}}]}, 0)
if not os.fork():
    result = app.call(ToolCall("hole", {"diameter": 1, "x": 3}))
    os._exit(0 if result.ok else 1)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_parent_that_has_computed_can_compute() -> None:
    """With OpenCascade's default thread pool the child waits for ever."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "0"


def test_it_is_listed() -> None:
    assert isinstance(open_application("cad"), Cad)
    assert len(Cad.tools()) == 14
