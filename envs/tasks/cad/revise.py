"""Revisions: a part is there, some of its parameters and features are to change."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.cad import part_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._parts import Calls, and_submit, block, call, chance, data, goal, listed

HOLES = ("Hole1", "Hole2", "Hole3")


class Revise(Family):
    """A plate with three holes and rounded corners; one to four of: set a parameter, add a hole, remove a hole."""

    name = "cad.revise"
    application = "cad"
    summary = "Change parameters and features of a part that is there."
    reward = part_reward()
    templates = (
        "Revise the part: {edits}.",
        "Please change this model: {edits}.",
        "The drawing has changed. In the open part, {edits}.",
        "Edit the existing plate: {edits}.",
        "Update the design: {edits}.",
        "Customer request for this part: {edits}.",
    )

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw a part and edits that it survives; every edit touches another parameter or feature."""
        width, depth, thickness = rng.randrange(60, 101, 5), rng.randrange(50, 81, 5), rng.randint(5, 12)
        spots = [(rng.randint(8, 16) * i, rng.randint(8, 14) * j) for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        rng.shuffle(spots)
        holes = [call("hole", diameter=rng.randint(4, 8), x=x, y=y) for x, y in spots[:3]]
        radius = rng.randint(2, 4)
        scene = [*block(width, depth, thickness), *holes, call("fillet", radius=radius, edges="vertical")]
        gone, bored, moved = rng.sample((1, 2, 3), 3)
        wider = [
            ("Rectangle1", "width", width, range(55, 121, 5)),
            ("Rectangle1", "height", depth, range(50, 101, 5)),
            ("Extrude1", "distance", thickness, range(4, 16)),
        ]
        finer = [
            ("Hole" + str(bored), "diameter", holes[bored - 1].arguments["diameter"], range(3, 11)),
            ("Fillet1", "radius", radius, range(2, 8)),
        ]
        settings = [
            *wider,
            *finer,
            (f"Hole{moved}", "x", spots[moved - 1][0], range(spots[moved - 1][0] - 4, spots[moved - 1][0] + 5)),
        ]
        changes = [
            call("set_parameter", feature=f, parameter=p, value=rng.choice([v for v in values if v != old]))
            for f, p, old, values in settings
        ]
        added = call("hole", diameter=rng.randint(3, 8), x=spots[3][0], y=spots[3][1])
        count = 1 + sum(chance(rng, difficulty, start, start + 0.7) for start in (0.0, 0.3, 0.6))
        edits = rng.sample([*changes, added, call("remove", feature=f"Hole{gone}")], count)
        touched = {str(e.arguments["feature"]) for e in edits if e.name == "set_parameter"} & {"Fillet1", *HOLES}
        removed = [[*scene, call("remove", feature=name)] for name in sorted(touched)]
        return Draft({"edits": data(edits)}, goal([*scene, *edits], scene, *removed), {"calls": data(scene)})

    def words(self, stated: Json) -> Json:
        """Turn the edits into a sentence."""
        return {"edits": listed([_phrase(edit["name"], edit["arguments"]) for edit in stated["edits"]])}

    def build(self, stated: Json) -> Calls:
        """Return the edits as calls."""
        return [ToolCall.from_json(edit) for edit in stated["edits"]]

    def oracle(self, task: Task) -> Solution:
        """Each edit in the order in which it is told."""
        yield from and_submit(self.build(task.stated))

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return ways to look busy."""
        edits = self.build(task.stated)
        undone = [call("undo") for _ in edits]
        return {
            "nothing": [submit()],
            "edits taken back": [*edits, *undone, submit()],
            "body removed": [
                *(call("remove", feature=f) for f in ("Fillet1", "Hole3", "Hole2", "Hole1", "Extrude1")),
                submit(),
            ],
            "another part": [
                *(call("remove", feature=f) for f in ("Fillet1", "Hole3", "Hole2", "Hole1", "Extrude1")),
                *block(30, 30, 3),
                submit(),
            ],
            "only exported": [call("measure"), call("export", format="step"), submit()],
        }


def _phrase(name: str, arguments: Json) -> str:
    if name == "set_parameter":
        return f"set {arguments['feature']} {arguments['parameter']} to {arguments['value']}"
    if name == "remove":
        return f"remove {arguments['feature']}"
    return f"add a hole diameter {arguments['diameter']} at ({arguments['x']}, {arguments['y']})"
