"""Find a value by following references from file to file."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.terminal import answer_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._words import KEYS, SERVICES, and_then, draft, run


class Lookup(Family):
    """One value of one service.

    In a named file when it is easy; behind an index, or an alias and an index, when it is hard.
    """

    name = "terminal.lookup"
    application = "terminal"
    summary = "Follow references through files and hand in the value found."
    reward = answer_reward()
    templates = (
        "Find the {key} of {service}. {where} Submit the value.",
        "What is the {key} of {service}? {where} Hand in the number.",
        "{where} Look up {key} for {service} and submit it.",
        "I need the {key} of the service {service}. {where} Submit it.",
        "Submit the {key} that {service} uses. {where}",
    )
    max_steps = 8

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw services with files of settings, and how many references lie between."""
        hops = 1 + (rng.random() < 2.5 * difficulty) + (rng.random() < 1.6 * (difficulty - 0.45))
        services = rng.sample(SERVICES, 3 + round(3 * difficulty))
        values = {s: {k: str(rng.randint(2, 9999)) for k in rng.sample(KEYS, 3)} for s in services}
        paths = dict(
            zip(
                services,
                (f"{rng.choice('abcdefgh')}{n}.cfg" for n in rng.sample(range(10, 99), len(services))),
                strict=True,
            )
        )
        service = rng.choice(services)
        key = rng.choice(sorted(values[service]))
        files = {paths[s]: "".join(f"{k}={v}\n" for k, v in values[s].items()) for s in services}
        owner = {
            s: s if hops < 3 else rng.choice("kmpx") + str(n)
            for s, n in zip(services, rng.sample(range(10, 99), len(services)), strict=True)
        }
        if hops > 1:
            files["index.txt"] = "".join(f"{owner[s]} {paths[s]}\n" for s in services)
        if hops > 2:
            files["owners.txt"] = "".join(f"{s} {owner[s]}\n" for s in services)
        stated: Json = {
            "service": service,
            "key": key,
            "hops": hops,
            "file": paths[service] if hops == 1 else "index.txt",
        }
        return draft(stated, files, answer=values[service][key])

    def words(self, stated: Json) -> Json:
        """Tell where to begin."""
        where = {
            1: f"It is set in {stated['file']}.",
            2: "index.txt names the file of each service.",
            3: "owners.txt gives the id of each service, index.txt the file of each id.",
        }
        return {**stated, "where": where[stated["hops"]]}

    def oracle(self, task: Task) -> Solution:
        """Look up one reference after the other."""
        name, file = task.stated["service"], task.stated["file"]
        if task.stated["hops"] > 2:
            name = (yield run(f"grep {name} owners.txt")).text.split()[-1]
        if task.stated["hops"] > 1:
            file = (yield run(f"grep {name} index.txt")).text.split()[-1]
        found = yield run(f"grep {task.stated['key']} {file}")
        yield submit(found.text.strip().rpartition("=")[2])

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return answers that were not looked up."""
        everything = " ".join(str(n) for n in range(10_000))
        return {
            "no answer": [submit()],
            "the key itself": [submit(task.stated["key"])],
            "every number": [submit(everything)],
            "a file instead of a value": and_then(["cat *.cfg"], task.stated["file"]),
            "writes the answer down": [run("echo 1 > answer.txt"), submit()],
        }
