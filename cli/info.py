"""``makerspace info ID``: one environment, as an agent's author wants to know it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ..envs.registration import env_id
from ..envs.tasks import family
from ..envs.tasks.base import Family
from .common import console, print_json, resolve
from .sentences import usage

DIFFICULTIES = (0.0, 0.5, 1.0)


def info(
    name: Annotated[str, typer.Argument(metavar="ID", help="An environment, such as cad.plate or plate.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show one environment: tools, spaces, reward terms, sample instructions."""
    facts = describe(family(resolve(name)))
    if as_json:
        print_json(facts)
    else:
        _print(facts, console())


def describe(one: Family) -> dict[str, Any]:
    """Return everything that can be said about a family without running it; JSON data."""
    import gymnasium

    from ..envs.env import VIEWS

    described: dict[str, Any] = {"id": env_id(one.name), "family": one.name, "summary": one.summary}
    described |= {"application": one.application, "max_steps": one.max_steps}
    spaces: dict[str, Any] = {}
    for view in VIEWS:
        made = gymnasium.make(env_id(one.name), action_view=view, runtime="inline", disable_env_checker=True)
        env: Any = made.unwrapped
        spaces[view] = {"action": _space(env.action_space), "observation": _space(env.observation_space)}
        described["tools"] = env.tools()
        env.close()
    terms = [("gate", part) for part in one.reward.gates] + [("term", part) for part in one.reward.terms]
    described["spaces"] = spaces
    described["reward"] = [{"name": part.name, "kind": kind, "weight": part.weight} for kind, part in terms]
    described["instructions"] = {f"{level:g}": one.task(0, difficulty=level).instruction for level in DIFFICULTIES}
    return described


def _space(space: Any) -> Any:
    parts = getattr(space, "spaces", None)
    return {key: str(part) for key, part in parts.items()} if parts else str(space)


def _print(facts: dict[str, Any], out: Console) -> None:
    from ..envs.episode import SUBMIT_TOOL
    from ..simulators import application_class

    def say(text: str) -> None:
        out.print(text, soft_wrap=True, highlight=False)

    say(f"[bold]{facts['id']}[/]  {escape(facts['summary'])}")
    say(f"application {facts['application']}, at most {facts['max_steps']} calls")
    say("\n[bold]tools[/]")
    for tool in (*application_class(facts["application"]).tools(), SUBMIT_TOOL):
        say(f"  {escape(usage(tool))}\n      [dim]{escape(tool.description)}[/]")
    say("\n[bold]spaces[/]")
    for view, spaces in facts["spaces"].items():
        say(f"  {view:<9} action       {escape(_line(spaces['action']))}")
        say(f"            observation  {escape(_line(spaces['observation']))}")
    say("\n[bold]reward[/]")
    for part in facts["reward"]:
        say(f"  {part['name']:<20} {part['kind']}" + (f", weight {part['weight']:g}" if part["kind"] == "term" else ""))
    say("\n[bold]instructions[/]")
    for level, text in facts["instructions"].items():
        say(f"  {level:>4}  {escape(text)}")


def _line(space: Any) -> str:
    return space if isinstance(space, str) else json.dumps(space, ensure_ascii=False).replace('"', "")
