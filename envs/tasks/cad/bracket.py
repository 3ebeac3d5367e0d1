"""L-brackets: a base, an upright on its left edge, holes in both."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.cad import part_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._parts import Calls, and_submit, block, call, chance, goal, listed, scaled


class Bracket(Family):
    """A base on XY, an upright on top of it; more holes, or a chamfer around the upper end, as it gets harder."""

    name = "cad.bracket"
    application = "cad"
    summary = "Model an L-bracket with holes in both legs."
    reward = part_reward()
    max_steps = 14
    templates = (
        "Make an L-bracket: base {width} x {depth} x {thickness}, "
        "upright {wall} x {depth} at x {x} on top, {height} high. {holes}{chamfer}",
        "Angle bracket with a {width} x {depth} x {thickness} base "
        "and a {wall} x {depth} upright at x {x}, height {height}. {holes}{chamfer}",
        "L-bracket: base plate {width} by {depth} by {thickness}, "
        "upright {wall} by {depth} at x {x}, {height} tall. {holes}{chamfer}",
        "I need a bracket: {width} x {depth} x {thickness} base, "
        "on it a {wall} x {depth} wall at x {x}, {height} high. {holes}{chamfer}",
        "Build a bracket: base {width} x {depth}, {thickness} thick; "
        "then a {wall} x {depth} leg at x {x}, {height} up. {holes}{chamfer}",
    )

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw the legs, then holes that fit into them."""
        width, depth, thickness = rng.randrange(50, 101, 10), rng.randrange(30, 61, 5), rng.randint(4, 10)
        wall, height = rng.randrange(4, 11, 2), rng.randrange(30, 61, 5)
        holes: list[Json] = []
        if upright := rng.random() < 0.5 or chance(rng, difficulty, 0.2, 0.8):
            holes.append(
                {
                    "diameter": rng.randint(4, 9),
                    "x": rng.randint(-6, 6),
                    "y": thickness + rng.randint(10, height - 8),
                    "face": "left",
                }
            )
        if not upright or chance(rng, difficulty, 0.0, 0.6):
            holes.insert(
                0,
                {
                    "diameter": rng.randint(4, 9),
                    "x": rng.randint(0, width // 2 - 8),
                    "y": rng.randint(6, depth // 2 - 7),
                    "face": "Extrude1.top",
                },
            )
        if len(holes) == 2 and chance(rng, difficulty, 0.5, 1.2):
            holes.insert(1, {**holes[0], "y": -holes[0]["y"]})
        stated: Json = {
            "width": width,
            "depth": depth,
            "thickness": thickness,
            "wall": wall,
            "height": height,
            "x": (wall - width) // 2,
            "holes": holes,
        }
        stated["chamfer"] = (
            rng.randint(1, wall // 2 - 1) if wall > 4 and len(holes) < 3 and chance(rng, difficulty, 0.4, 1.4) else 0
        )
        return Draft(stated, goal(self.build(stated), self.legs(stated), self.legs(stated)[:3]))

    def words(self, stated: Json) -> Json:
        """Turn the holes and the chamfer into phrases."""
        holes = [f"diameter {h['diameter']} at ({h['x']}, {h['y']}) on {h['face']}" for h in stated["holes"]]
        chamfer = f" Chamfer top edges by {stated['chamfer']}." if stated["chamfer"] else ""
        return {**stated, "holes": f"{'Hole' if len(holes) == 1 else 'Holes'}: {listed(holes)}.", "chamfer": chamfer}

    def legs(self, stated: Json) -> Calls:
        """Return the calls that make the bracket without its holes."""
        upright = [
            call("new_sketch", face="top"),
            call("rectangle", width=stated["wall"], height=stated["depth"], x=stated["x"]),
        ]
        return [
            *block(stated["width"], stated["depth"], stated["thickness"]),
            *upright,
            call("extrude", distance=stated["height"]),
        ]

    def build(self, stated: Json) -> Calls:
        """Return the calls that make the part."""
        chamfer = [call("chamfer", size=stated["chamfer"], edges="top")] if stated["chamfer"] else []
        return [*self.legs(stated), *(call("hole", **h) for h in stated["holes"]), *chamfer]

    def oracle(self, task: Task) -> Solution:
        """Base, upright, holes, chamfer."""
        yield from and_submit(self.build(task.stated))

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return parts that look alike."""
        s = task.stated
        calls = self.build(s)
        far = [
            call("hole", **{**h, "x": -h["x"] - 1, "y": h["y"] - 9 if h["face"] == "left" else -h["y"] - 1})
            for h in s["holes"]
        ]
        return {
            "nothing": [submit()],
            "base only": [*calls[:3], submit()],
            "legs without holes": [*calls[:6], submit()],
            "bounding block": [*block(s["width"], s["depth"], s["thickness"] + s["height"]), submit()],
            "in centimetres": [*scaled(calls, 0.1), submit()],
            "holes elsewhere": [*calls[:6], *far, submit()],
        }
