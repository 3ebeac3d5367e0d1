"""Tidy a folder by rules."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.terminal import files_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._words import NAMES, SERVICES, and_then, count, draft, run

ENDINGS = ("log", "tmp", "txt", "csv", "md", "bak", "cfg")


class Tidy(Family):
    """One to four rules: move or delete what has an ending, rename or copy one file.

    What no rule names stays as it is.
    """

    name = "terminal.tidy"
    application = "terminal"
    summary = "Move, delete, rename and copy files by rules, and touch nothing else."
    reward = files_reward()
    templates = (
        "Tidy this folder: {rules}.",
        "Please {rules}.",
        "Clean up here: {rules}. Leave the rest alone.",
        "Do this with the files here: {rules}.",
        "Sort the files out: {rules}. Nothing else.",
    )
    max_steps = 9

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw files with endings, and rules that do not get into each other's way."""
        endings = rng.sample(ENDINGS, 5)
        stems = rng.sample(NAMES, 10)
        start = {
            f"{stem}.{endings[i % 5]}": f"{rng.choice(SERVICES)} {rng.randint(1, 999)}\n"
            for i, stem in enumerate(stems)
        }
        rules: list[Json] = []
        for ending, target in zip(endings[: count(rng, difficulty, 1, 4)], rng.sample(SERVICES, 4), strict=False):
            one = rng.choice([path for path in start if path.endswith(ending)])
            kind = rng.choices(("move", "delete", "rename", "copy"), (1, 1, 0.3 + difficulty, 0.2 + difficulty))[0]
            rules.append({"kind": kind, "ending": ending, "folder": target, "file": one, "to": f"{target}.{ending}"})
        files = dict(start)
        for rule in rules:
            _apply(rule, files)
        return draft({"rules": rules}, start, files)

    def words(self, stated: Json) -> Json:
        """Say each rule."""
        kinds = {
            "move": "move all .{ending} files into the new folder {folder}",
            "delete": "delete all .{ending} files",
            "rename": "rename {file} to {to}",
            "copy": "copy {file} to {to}",
        }
        return {"rules": ", ".join(kinds[rule["kind"]].format(**rule) for rule in stated["rules"])}

    def oracle(self, task: Task) -> Solution:
        """Follow the rules in their order."""
        for rule in task.stated["rules"]:
            for command in _commands(rule):
                yield run(command)
        yield submit()

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return ways to look tidy."""
        folders = [rule["folder"] for rule in task.stated["rules"]]
        return {
            "nothing": [submit()],
            "empty folders": and_then([f"mkdir -p {' '.join(folders)}"]),
            "delete everything": and_then(["rm -rf *"]),
            "move everything": and_then(["mkdir all", "mv *.* all"]),
            "copies everywhere": and_then([f"mkdir -p {folder} && cp *.* {folder}" for folder in folders]),
        }


def _commands(rule: Json) -> list[str]:
    return {
        "move": [f"mkdir {rule['folder']}", f"mv *.{rule['ending']} {rule['folder']}"],
        "delete": [f"rm *.{rule['ending']}"],
        "rename": [f"mv {rule['file']} {rule['to']}"],
        "copy": [f"cp {rule['file']} {rule['to']}"],
    }[rule["kind"]]


def _apply(rule: Json, files: dict[str, str]) -> None:
    if rule["kind"] in ("rename", "copy"):
        files[rule["to"]] = files[rule["file"]] if rule["kind"] == "copy" else files.pop(rule["file"])
        return
    for path in [path for path in files if path.endswith("." + rule["ending"]) and "/" not in path]:
        text = files.pop(path)
        if rule["kind"] == "move":
            files[f"{rule['folder']}/{path}"] = text
