"""Plates with drilled holes: the first thing that anyone models."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.cad import part_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._parts import Calls, and_submit, block, call, chance, goal, listed, scaled


class Plate(Family):
    """A plate on XY, centred on the origin, with a hole: more holes, blind ones, rounded corners as it gets harder."""

    name = "cad.plate"
    application = "cad"
    summary = "Model a rectangular plate with drilled holes."
    reward = part_reward()
    templates = (
        "Make a plate {width} x {depth} mm, {thickness} mm thick. {holes}{corners}",
        "Model a flat rectangular part {width} by {depth} mm with thickness {thickness}. {holes}{corners}",
        "I need a {width} x {depth} x {thickness} mm plate. {holes}{corners}",
        "Extrude a {width} x {depth} rectangle by {thickness} mm. {holes}{corners}",
        "Build a mounting plate, {width} wide, {depth} deep and {thickness} thick. {holes}{corners}",
        "A plate of {width} x {depth} mm, {thickness} mm high, please. {holes}{corners}",
    )

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw sizes, holes that keep apart, and perhaps a corner radius."""
        width, depth = rng.randrange(40, 121, 5), rng.randrange(40, 91, 5)
        thickness = rng.randint(4, 14)
        count = 1 + sum(chance(rng, difficulty, 0.0, 1.3) for _ in range(3))
        quarters = rng.sample([(1, 1), (-1, 1), (-1, -1), (1, -1)], count)
        holes: list[Json] = []
        for right, up in quarters:
            hole = {
                "diameter": rng.randint(3, 8),
                "x": right * rng.randint(6, width // 2 - 10),
                "y": up * rng.randint(6, depth // 2 - 10),
            }
            holes.append(hole | ({"depth": rng.randint(2, thickness - 1)} if chance(rng, difficulty, 0.2, 1.5) else {}))
        stated: Json = {
            "width": width,
            "depth": depth,
            "thickness": thickness,
            "holes": holes,
            "radius": rng.randint(2, 5) if chance(rng, difficulty, 0.3, 1.1) else 0,
        }
        return Draft(stated, goal(self.build(stated), block(width, depth, thickness)))

    def words(self, stated: Json) -> Json:
        """Turn the holes and the corner radius into phrases."""
        holes = [
            f"diameter {h['diameter']} at ({h['x']}, {h['y']}){' depth ' + str(h['depth']) if 'depth' in h else ''}"
            for h in stated["holes"]
        ]
        corners = f" Fillet the vertical edges with radius {stated['radius']}." if stated["radius"] else ""
        return {**stated, "holes": f"{'Hole' if len(holes) == 1 else 'Holes'}: {listed(holes)}.", "corners": corners}

    def build(self, stated: Json) -> Calls:
        """Return the calls that make the part."""
        holes = [call("hole", **h) for h in stated["holes"]]
        corners = [call("fillet", radius=stated["radius"], edges="vertical")] if stated["radius"] else []
        return [*block(stated["width"], stated["depth"], stated["thickness"]), *holes, *corners]

    def oracle(self, task: Task) -> Solution:
        """Block, holes, corners."""
        yield from and_submit(self.build(task.stated))

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return parts that look or weigh alike."""
        s = task.stated
        calls = self.build(s)
        lost = (
            sum(3.14159 * h["diameter"] ** 2 / 4 * h.get("depth", s["thickness"]) for h in s["holes"])
            + (4 - 3.14159) * s["radius"] ** 2 * s["thickness"]
        )
        return {
            "nothing": [submit()],
            "plain block": [*block(s["width"], s["depth"], s["thickness"]), submit()],
            "block of the right volume": [
                *block(s["width"], s["depth"], round(s["thickness"] - lost / s["width"] / s["depth"], 3)),
                submit(),
            ],
            "in centimetres": [*scaled(calls, 0.1), submit()],
            "in inches": [*scaled(calls, 25.4 if max(s["width"], s["depth"]) < 78 else 1 / 25.4), submit()],
            "sketch only": [*calls[:2], submit()],
            "holes in a mirrored corner": [
                *calls[:3],
                *(call("hole", **{**h, "x": -h["x"] - 1}) for h in s["holes"]),
                submit(),
            ],
        }
