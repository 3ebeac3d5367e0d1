"""Stepped shafts: coaxial cylinders, one on top of the other."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.cad import part_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._parts import Calls, and_submit, call, chance, data, disc, goal, listed, scaled


class Shaft(Family):
    """Two to four ever thinner steps along Z; the first is often there in easy tasks, a chamfer comes in hard ones."""

    name = "cad.shaft"
    application = "cad"
    summary = "Model a stepped shaft of coaxial cylinders."
    reward = part_reward()
    max_steps = 16
    templates = (
        "Make a stepped shaft from bottom to top: {steps}.{started}{chamfer}",
        "Model a turned shaft along Z with these steps: {steps}.{started}{chamfer}",
        "I need a shaft of coaxial cylinders, the first on XY: {steps}.{started}{chamfer}",
        "Stack cylinders into a shaft: {steps}.{started}{chamfer}",
        "Build a spindle upwards in this order: {steps}.{started}{chamfer}",
    )

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw falling diameters, and lengths."""
        count = 2 + chance(rng, difficulty, 0.1, 0.9) + chance(rng, difficulty, 0.7, 1.3)
        steps: list[Json] = []
        diameter = rng.randrange(32, 61, 2)
        for _ in range(count):
            steps.append({"diameter": diameter, "length": rng.randint(8, 40)})
            diameter -= rng.choice((4, 6, 8))
        chamfer = rng.randint(1, 3) if chance(rng, difficulty, 0.2, 1.1) else 0
        stated: Json = {"steps": steps, "started": not chance(rng, difficulty, 0.0, 0.5), "chamfer": chamfer}
        first = disc(steps[0]["diameter"], steps[0]["length"])
        reference = self.build({**stated, "started": False})
        return Draft(
            stated, goal(reference, first, *self.lumps(stated)), {"calls": data(first)} if stated["started"] else {}
        )

    def lumps(self, stated: Json) -> tuple[Calls, Calls]:
        """Return two single cylinders of the whole length: of the largest diameter, and of about the shaft's volume."""
        length = sum(s["length"] for s in stated["steps"])
        mean = (sum(s["diameter"] ** 2 * s["length"] for s in stated["steps"]) / length) ** 0.5
        return disc(stated["steps"][0]["diameter"], length), disc(round(mean, 3), length)

    def words(self, stated: Json) -> Json:
        """Turn the steps into a list."""
        steps = listed([f"diameter {s['diameter']} length {s['length']}" for s in stated["steps"]])
        started = " The first step is there already." if stated["started"] else ""
        return {
            "steps": steps,
            "started": started,
            "chamfer": f" Chamfer the top edges by {stated['chamfer']}." if stated["chamfer"] else "",
        }

    def build(self, stated: Json) -> Calls:
        """Return the calls that make the part, or what is missing of it."""
        calls: Calls = []
        for i, step in enumerate(stated["steps"]):
            if i or not stated["started"]:
                calls += [call("new_sketch", face="top") if i else call("new_sketch", plane="XY")]
                calls += [call("circle", diameter=step["diameter"]), call("extrude", distance=step["length"])]
        return [*calls, call("chamfer", size=stated["chamfer"], edges="top")] if stated["chamfer"] else calls

    def oracle(self, task: Task) -> Solution:
        """One step after the other, then the chamfer."""
        yield from and_submit(self.build(task.stated))

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return parts that look or weigh alike."""
        stated = task.stated
        fresh: Calls = [call("remove", feature="Extrude1")] if stated["started"] else []
        bounding, mean = self.lumps(stated)
        whole = {**stated, "started": False}
        return {
            "nothing": [submit()],
            "first step only": [*fresh, *self.build(whole)[:3], submit()],
            "one cylinder of the whole length": [*fresh, *bounding, submit()],
            "one cylinder of the same volume": [*fresh, *mean, submit()],
            "in centimetres": [*fresh, *scaled(self.build(whole), 0.1), submit()],
            "upside down": [*fresh, *self.build({**whole, "steps": stated["steps"][::-1]}), submit()],
        }
