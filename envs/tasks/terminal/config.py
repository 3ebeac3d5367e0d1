"""Change settings, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.terminal import files_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._words import KEYS, SERVICES, and_then, count, draft, run


class Config(Family):
    """One to four settings in one to three files: set a key, remove a line, or add one."""

    name = "terminal.config"
    application = "terminal"
    summary = "Set, add and remove keys in configuration files and leave every other byte alone."
    reward = files_reward()
    templates = (
        "Change the configuration: {changes}.",
        "Please {changes}.",
        "Edit the settings here: {changes}. Keep everything else.",
        "These settings are wrong. {changes}.",
        "Update the config files: {changes}. Change nothing else.",
    )
    max_steps = 8

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw files of settings and the changes to them, each to a key of its own."""
        names = rng.sample(SERVICES, count(rng, difficulty, 1, 3))
        settings = {f"{name}.cfg": {key: rng.randint(1, 9999) for key in rng.sample(KEYS, 4)} for name in names}
        start = {path: _text(values) for path, values in settings.items()}
        changes: list[Json] = []
        for number, key in enumerate(rng.sample(KEYS, count(rng, difficulty, 1, 4))):
            path = sorted(settings)[number % len(settings)]
            kinds = ("set", "remove") if key in settings[path] else ("add",)
            kind = rng.choices(kinds, (1.0, 0.2 + 0.6 * difficulty)[: len(kinds)])[0]
            changes.append({"kind": kind, "key": key, "file": path, "value": rng.randint(1, 9999)})
            if kind == "remove":
                del settings[path][key]
            else:
                settings[path][key] = changes[-1]["value"]
        return draft({"changes": changes}, start, {path: _text(values) for path, values in settings.items()})

    def words(self, stated: Json) -> Json:
        """Say each change."""
        kinds = {
            "set": "set {key} to {value} in {file}",
            "add": "add {key}={value} to the end of {file}",
            "remove": "remove the {key} line from {file}",
        }
        return {"changes": ", ".join(kinds[change["kind"]].format(**change) for change in stated["changes"])}

    def oracle(self, task: Task) -> Solution:
        """One command for each change."""
        for change in task.stated["changes"]:
            yield run(_command(change))
        yield submit()

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return files that only look configured."""
        changes = task.stated["changes"]
        lines = [f"{c['key']}={c['value']}" for c in changes]
        return {
            "nothing": [submit()],
            "only the changed keys": and_then(
                [f"echo {line} > {c['file']}" for line, c in zip(lines, changes, strict=True)]
            ),
            "another file": and_then([f"echo {line} >> new.cfg" for line in lines]),
            "commented": and_then([f"echo '# {line}' >> {c['file']}" for line, c in zip(lines, changes, strict=True)]),
            "files deleted": and_then(["rm *.cfg"]),
        }


def _text(values: Mapping[str, int]) -> str:
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _command(change: Json) -> str:
    key, value, file = change["key"], change["value"], change["file"]
    if change["kind"] == "add":
        return f"echo {key}={value} >> {file}"
    return (
        f"sed -i '/^{key}=/d' {file}" if change["kind"] == "remove" else f"sed -i 's/^{key}=.*/{key}={value}/' {file}"
    )
