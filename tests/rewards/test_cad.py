from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from makerspace.envs.tasks import Family, Task, family
from makerspace.envs.tasks.cad._parts import Calls, block, call, disc, goal
from makerspace.rewards import Goal, Outcome, Score
from makerspace.rewards.cad import part_reward
from makerspace.simulators import open_application
from makerspace.simulators.base import ToolCall

cq = pytest.importorskip("cadquery", reason="the CAD reward needs the extra `cad`")
kernel = pytest.importorskip("makerspace.simulators.cad.kernel", reason="the CAD reward needs the extra `cad`")

FAMILIES = ("cad.plate", "cad.bracket", "cad.flange", "cad.shaft", "cad.revise")
REWARD = part_reward()
BLANK = block(80, 50, 8)
HOLES = [call("hole", diameter=d, x=x, y=y) for d, x, y in ((6, 30, 15), (5, -30, 12), (7, -25, -15), (4, 28, -17))]
PLATE = goal([*BLANK, *HOLES], BLANK)


def made(calls: Sequence[ToolCall], scene: dict[str, object] | None = None) -> Outcome:
    app = open_application("cad")
    app.reset(scene or {}, 0)
    for each in calls:
        if each.name != "submit":
            app.call(each)
    return Outcome(app.artifacts(), submitted=True)


def scored(calls: Calls, wanted: Goal = PLATE) -> float:
    total = REWARD.score(wanted, made(calls)).total
    assert total is not None
    return total


def of_shape(shape: object, wanted: Goal = PLATE) -> Score:
    return REWARD.score(wanted, Outcome({"part.brep": kernel.to_brep(shape)}))  # type: ignore[arg-type]


def reference() -> object:
    return kernel.from_brep(made([*BLANK, *HOLES]).artifacts["part.brep"])


def test_the_part_itself_is_worth_one() -> None:
    score = REWARD.score(PLATE, made([*BLANK, *HOLES]))
    assert score.total == pytest.approx(1.0)
    assert score.success


def test_another_way_to_the_same_part_is_worth_one() -> None:
    other = [call("new_sketch", plane="XY"), call("rectangle", width=80, height=50)]
    other += [call("circle", **{k: h.arguments[k] for k in ("diameter", "x", "y")}) for h in reversed(HOLES)]
    assert scored([*other, call("extrude", distance=8)]) == pytest.approx(1.0)


def test_credit_grows_with_every_right_feature() -> None:
    scores = [scored([*BLANK, *HOLES[:n]]) for n in range(5)]
    assert scores[0] <= 0.1
    assert all(b > a + 0.1 for a, b in pairwise(scores))
    assert scores[3] < 0.9


@pytest.mark.parametrize(
    "wrong",
    [
        {"diameter": 7, "x": 30, "y": 15},
        {"diameter": 6, "x": 29, "y": 15},
        {"diameter": 6, "x": 30, "y": 15, "depth": 5},
        {"diameter": 6, "x": 15, "y": 4, "face": "front"},
    ],
    ids=["diameter", "place", "depth", "axis"],
)
def test_a_wrong_hole_is_no_better_than_none(wrong: dict[str, object]) -> None:
    score = REWARD.score(PLATE, made([*BLANK, *HOLES[1:], call("hole", **wrong)]))
    none = REWARD.score(PLATE, made([*BLANK, *HOLES[1:]]))
    assert score.terms["features"] <= none.terms["features"]  # type: ignore[operator]
    assert not score.success


def test_a_hole_too_many_costs() -> None:
    extra = call("hole", diameter=3, x=0, y=0)
    assert scored([*BLANK, *HOLES, extra]) < 0.9


def adversaries() -> dict[str, Callable[[], object]]:
    def plate() -> object:
        return reference()

    def scaled(factor: float) -> object:
        return plate().scale(factor)  # type: ignore[attr-defined]

    def of_volume() -> object:
        side = plate().Volume() ** (1 / 3)  # type: ignore[attr-defined]
        return cq.Solid.makeBox(side, side, side)

    return {
        "inside out": lambda: cq.Shape.cast(plate().wrapped.Reversed()),  # type: ignore[attr-defined]
        "twice at one place": lambda: cq.Compound.makeCompound([plate(), plate().copy()]),  # type: ignore[attr-defined]
        "with junk far away": lambda: cq.Compound.makeCompound(
            [plate(), cq.Solid.makeBox(1, 1, 1, cq.Vector(900, 0, 0))]
        ),
        "with a loose face": lambda: cq.Compound.makeCompound([plate(), cq.Face.makePlane(5, 5)]),
        "shell only": lambda: plate().Shells()[0],  # type: ignore[attr-defined]
        "inches": lambda: scaled(25.4),
        "a tenth larger": lambda: scaled(1.1),
        "mirrored": lambda: plate().mirror("YZ"),  # type: ignore[attr-defined]
        "moved": lambda: plate().moved(cq.Location(cq.Vector(40, 25, 0))),  # type: ignore[attr-defined]
        "cube of the right volume": of_volume,
        "bounding block": lambda: cq.Solid.makeBox(80, 50, 8, cq.Vector(-40, -25, 0)),
    }


@pytest.mark.parametrize("name", sorted(adversaries()))
def test_look_alikes_are_worth_nothing(name: str) -> None:
    total = of_shape(adversaries()[name]()).total
    assert total is not None
    assert total <= 0.1


@pytest.mark.parametrize(
    "data",
    [None, b"", b"solid part", b"\nOpen CASCADE Topology V4", b"\nOpen CASCADE Topology V4" + bytes(500)],
    ids=["missing", "empty", "another format", "cut off", "zeros"],
)
def test_files_that_are_no_part(data: bytes | None) -> None:
    files = {} if data is None else {"part.brep": data}
    score = REWARD.score(PLATE, Outcome(files))
    assert score.total == 0
    assert score.terms["exists"] == 0


def test_a_file_cut_short_never_raises() -> None:
    whole = made([*BLANK, *HOLES]).artifacts["part.brep"]
    for length in range(60, len(whole), 997):
        score = REWARD.score(PLATE, Outcome({"part.brep": whole[:length]}))
        assert score.total is None or 0 <= score.total <= 1


def test_an_invalid_solid_is_closed_out() -> None:
    """The kernel makes this one without an exception."""
    box = cq.Solid.makeBox(10, 10, 10)
    broken = box.fillet(6, box.Edges())
    assert of_shape(broken).terms["valid"] == 0


def test_a_revision_is_scored_against_its_start() -> None:
    start = [*BLANK, *HOLES[:2]]
    wider = call("set_parameter", feature="Rectangle1", parameter="width", value=90)
    wanted = goal([*start, wider], start)
    assert scored(start, wanted) <= 0.1
    assert scored([*start, wider], wanted) == pytest.approx(1.0)
    narrower = call("set_parameter", feature="Rectangle1", parameter="width", value=70)
    assert scored([*start, narrower], wanted) <= 0.1


def test_bosses_and_cones_count_as_features() -> None:
    step = [call("new_sketch", face="top"), call("circle", diameter=20), call("extrude", distance=10)]
    wanted = goal([*disc(30, 10), *step, call("chamfer", size=1, edges="top")], disc(30, 10), disc(30, 20))
    plain = scored([*disc(30, 10), *step], wanted)
    assert 0.2 < plain < 0.9


def outcome_of(fam: Family, task: Task, calls: Sequence[ToolCall]) -> float:
    total = fam.reward.score(task.goal, made(calls, task.scene)).total
    assert total is not None
    return total


def oracle(fam: Family, task: Task) -> list[ToolCall]:
    app = open_application("cad")
    app.reset(task.scene, 0)
    solution, calls = fam.oracle(task), list[ToolCall]()
    each = next(solution)
    while each.name != "submit":
        calls.append(each)
        each = solution.send(app.call(each))
    return calls


def mutants(rng: random.Random, calls: list[ToolCall]) -> list[list[ToolCall]]:
    """Leave a call out, change one number, or do one thing too much."""
    found: list[list[ToolCall]] = [calls[:i] + calls[i + 1 :] for i in range(len(calls))]
    for i, each in enumerate(calls):
        for key, value in each.arguments.items():
            if isinstance(value, int | float):
                for step in (1, -1):
                    changed = ToolCall(each.name, {**each.arguments, key: value + step})
                    found.append([*calls[:i], changed, *calls[i + 1 :]])
    found.append([*calls, call("hole", diameter=2.5, x=13, y=2)])
    found.append([*calls, call("undo")])
    rng.shuffle(found)
    return found[:20]


@pytest.mark.parametrize("difficulty", [0.0, 1.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_oracles_earn_one_and_their_mutants_lose(name: str, difficulty: float) -> None:
    fam = family(name)
    task = fam.task(3, "train", difficulty)
    calls = oracle(fam, task)
    assert outcome_of(fam, task, calls) == pytest.approx(1.0)
    for mutant in mutants(random.Random(0), calls):
        assert outcome_of(fam, task, mutant) < 0.95, mutant


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_exploits_do_not_pay(name: str, difficulty: float) -> None:
    fam = family(name)
    for index in range(2):
        task = fam.task(index, "test", difficulty)
        exploits = fam.exploits(task)
        assert len(exploits) >= 4
        for exploit, calls in exploits.items():
            assert outcome_of(fam, task, calls) <= 0.1, (task.id, exploit)


@pytest.mark.parametrize("name", FAMILIES)
def test_tasks_get_longer_as_they_get_harder(name: str) -> None:
    fam = family(name)
    lengths = [sum(len(list(fam.oracle(fam.task(i, "train", d)))) for i in range(9)) for d in (0.0, 0.5, 1.0)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[2]
