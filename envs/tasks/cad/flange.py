"""Flanges: discs with a bore, a bolt circle and perhaps a boss."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.cad import part_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._parts import Calls, and_submit, call, chance, disc, goal, scaled


class Flange(Family):
    """A disc on XY with a centre bore; a bolt circle and a boss on top join it as it gets harder."""

    name = "cad.flange"
    application = "cad"
    summary = "Model a round flange with a bore and a bolt circle."
    reward = part_reward()
    max_steps = 14
    templates = (
        "Make a flange: disc diameter {diameter}, {thickness} mm thick. {bolts}{boss}Centre bore: diameter {bore}.",
        "Model a round flange of diameter {diameter} and thickness {thickness}. {bolts}{boss}"
        "Bore it through the centre with diameter {bore}.",
        "I need a {diameter} mm disc, {thickness} mm thick. {bolts}{boss}Drill a {bore} mm hole through the centre.",
        "Build a pipe flange {diameter} in diameter and {thickness} thick. {bolts}{boss}"
        "Through bore in the middle: diameter {bore}.",
        "A circular plate, diameter {diameter}, height {thickness}. {bolts}{boss}"
        "Finally a centre hole of diameter {bore}.",
    )

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw the disc, then a boss and bolts that leave each other room."""
        bore = rng.randrange(8, 21, 2)
        collar = bore + rng.randrange(8, 17, 2)
        bolt, count = rng.randint(4, 8), rng.randint(3, 8)
        ring = (collar + bolt) // 2 + rng.randint(4, 10)
        ring = max(ring, (count * (bolt + 3)) // 6 + 1)
        stated: Json = {
            "diameter": 2 * ring + bolt + rng.randrange(8, 17, 2),
            "thickness": rng.randint(5, 14),
            "bore": bore,
            "bolts": {},
            "boss": {},
        }
        if chance(rng, difficulty, 0.0, 0.5):
            stated["bolts"] = {"diameter": bolt, "radius": ring, "count": count}
        if chance(rng, difficulty, 0.3, 1.1):
            stated["boss"] = {"diameter": collar, "height": rng.randint(6, 20)}
        return Draft(stated, goal(self.build(stated), self.blank(stated), self.blank(stated)[:3]))

    def words(self, stated: Json) -> Json:
        """Turn bolt circle and boss into phrases."""
        bolts, boss = stated["bolts"], stated["boss"]
        drilled = "Bolt circle: hole diameter {diameter} at ({radius}, 0), circular pattern of {count}. "
        raised = "Boss on top: diameter {diameter}, {height} high. "
        phrases = {"bolts": drilled.format(**bolts) if bolts else "", "boss": raised.format(**boss) if boss else ""}
        return {**stated, **phrases}

    def raised(self, stated: Json) -> Calls:
        """Return the calls that add the boss."""
        boss = stated["boss"]
        return (
            [
                call("new_sketch", face="top"),
                call("circle", diameter=boss["diameter"]),
                call("extrude", distance=boss["height"]),
            ]
            if boss
            else []
        )

    def blank(self, stated: Json) -> Calls:
        """Return the calls that make the flange without a hole."""
        return [*disc(stated["diameter"], stated["thickness"]), *self.raised(stated)]

    def build(self, stated: Json) -> Calls:
        """Return the calls that make the part."""
        bolts = stated["bolts"]
        ring = (
            [
                call("hole", diameter=bolts["diameter"], x=bolts["radius"], y=0),
                call("pattern", kind="circular", count=bolts["count"]),
            ]
            if bolts
            else []
        )
        bore = call("hole", diameter=stated["bore"])
        return [*disc(stated["diameter"], stated["thickness"]), *ring, *self.raised(stated), bore]

    def oracle(self, task: Task) -> Solution:
        """Disc, bolt circle, boss, bore."""
        yield from and_submit(self.build(task.stated))

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return parts that look or weigh alike."""
        s = task.stated
        calls, blank = self.build(s), self.blank(s)
        thinner = round(s["thickness"] * (1 - (s["bore"] / s["diameter"]) ** 2), 3)
        return {
            "nothing": [submit()],
            "plain disc": [*blank[:3], submit()],
            "no holes": [*blank, submit()],
            "thinner disc of the bore's volume": [*disc(s["diameter"], thinner), *self.raised(s), submit()],
            "in centimetres": [*scaled(calls, 0.1), submit()],
            "bore beside the centre": [*blank, call("hole", diameter=s["bore"], x=s["bore"], y=0), submit()],
        }
