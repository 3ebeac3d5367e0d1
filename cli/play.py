"""``makerspace play``: a person solves a task with the tools that an agent has, or watches how it could be done.

The lines typed are calls (see ``sentences.py``) and a few words of the command's own; both may be piped in. ``undo``
goes back to the state before the last call, at no cost; an application's own tool of that name can be called as JSON.
It knows no domain: what can be drawn is whatever the application hands out.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..envs.registration import env_id
from ..envs.tasks import family
from ..envs.tasks.base import SPLITS
from ..simulators import application_class, open_application
from .braille import draw
from .common import Mistake, choice, console, resolve
from .sentences import read_call, usage

if TYPE_CHECKING:
    from ..envs.env import ToolEnv
    from ..simulators.base import ToolCall, ToolResult

WORDS = {
    "help": "this text; `help TOOL` tells more",
    "oracle": "what the family's own solution would call next",
    "undo": "back to before the last call",
    "draw": "show what you made, and write it to files",
    "submit": "hand in and see the score",
    "quit": "leave",
}


def play(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="An environment (cad.plate, or just plate) or a whole task (cad.plate/test/17@0.5)."
        ),
    ],
    seed: Annotated[int, typer.Option(help="Which task.")] = 0,
    difficulty: Annotated[float | None, typer.Option(min=0, max=1, help="0 easy to 1 hard; default: drawn.")] = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "train",
    runtime: Annotated[str, typer.Option(help="process, docker or inline.")] = "process",
    trace: Annotated[Path | None, typer.Option(help="Folder for a trace of the episode.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for drawings.")] = Path("runs/play"),
) -> None:
    """Call the tools of one task by hand. Exit code 1: handed in and not solved."""
    chosen, options = _task(name, seed, difficulty)
    env: ToolEnv = _make(chosen, split, runtime, trace)
    try:
        _, info = env.reset(seed=seed, options=options)
        if info["infra_error"]:
            raise Mistake(f"the application could not be started: {info['infra_error']}")
        solved = Bench(env, out).run()
    finally:
        env.close()
    if solved is False:
        raise typer.Exit(1)


def _task(name: str, seed: int, difficulty: float | None) -> tuple[str, dict[str, Any]]:
    """Return the family and the options of ``reset`` that a name and the command's options mean."""
    head, slash, rest = name.removeprefix("makerspace/").partition("/")
    chosen = resolve(head)
    if not slash:
        return chosen, {"index": seed, "difficulty": difficulty}
    try:
        return chosen, {"task_id": family(chosen).from_id(f"{chosen}/{rest}").id}
    except ValueError as problem:
        raise Mistake(str(problem)) from None


def _make(chosen: str, split: str, runtime: str, trace: Path | None) -> ToolEnv:
    import gymnasium

    from ..containers.runtimes import RUNTIMES

    given: dict[str, Any] = {"split": choice("split", split, SPLITS), "runtime": choice("runtime", runtime, RUNTIMES)}
    env = gymnasium.make(env_id(chosen), action_view="text", trace=trace, disable_env_checker=True, **given)
    return env.unwrapped  # type: ignore[return-value]


class Bench:
    """One task on the bench: reads lines until the work is handed in, the budget is used up, or the person leaves."""

    def __init__(self, env: ToolEnv, out: Path) -> None:
        from ..envs.episode import SUBMIT_TOOL

        self._env, self._out = env, out
        self._tools = (*application_class(env.task.application).tools(), SUBMIT_TOOL)
        self._console = console()
        self._done: list[tuple[ToolCall, ToolResult, bytes]] = []
        """Each call made, its result, and the snapshot from before it."""
        self._solved: bool | None = None

    def run(self) -> bool | None:
        """Play; return whether the task was solved, ``None`` if the work was not handed in."""
        task = self._env.task
        names = ", ".join(tool.name for tool in self._tools)
        self._say(f"[bold]{escape(task.instruction)}[/]")
        self._say(f"[dim]{task.id} | {task.max_steps} calls | tools: {names} | `help` tells more[/]")
        self._say(escape(self._view()))
        for line in _lines():
            try:
                if self._obey(line.strip()):
                    break
            except Mistake as mistake:
                self._say(f"[yellow]{escape(str(mistake))}[/]")
        return self._solved

    def _obey(self, line: str) -> bool:
        """Carry out one line; return whether it was the last."""
        word, _, rest = line.partition(" ")
        if word in ("quit", "exit"):
            return True
        if word == "help":
            self._help(rest.strip())
        elif word == "oracle":
            from ..envs.actions import call_text

            call = self._hint()
            self._say("the oracle has nothing to add" if call is None else f"[cyan]{escape(call_text(call))}[/]")
        elif word == "undo" and not rest:
            self._undo()
        elif word == "draw" and not rest:
            self._draw()
        elif word:
            return self._call(read_call(line, self._tools))
        return False

    def _call(self, call: ToolCall) -> bool:
        before = self._env.snapshot()
        _, reward, terminated, truncated, info = self._env.step(self._env.encode(call))
        result = self._env.episode.result
        self._done.append((call, result, before))
        step = f"[dim]{info['step']}/{self._env.task.max_steps}[/]"
        self._say(f"{step} {escape(result.text)}" if result.ok else f"{step} [red]{escape(result.text)}[/]")
        if not (terminated or truncated):
            return False
        if info["infra_error"]:
            self._say(f"[red]the sandbox failed: {escape(info['infra_error'])}[/]")
            return True
        self._solved = bool(info["is_success"])
        terms = ", ".join(f"{name} {value:.2f}" for name, value in info["reward_terms"].items() if value >= 0)
        self._say(f"[bold]{'[green]solved' if self._solved else '[red]not solved'}[/][/], reward {reward:.2f}: {terms}")
        return True

    def _help(self, name: str) -> None:
        for tool in self._tools:
            if name in ("", tool.name):
                self._say(f"  [bold]{escape(usage(tool))}[/]\n      {escape(tool.description)}")
            if name == tool.name:
                for argument, schema in tool.parameters["properties"].items():
                    self._say(f"      {argument}: {escape(schema.get('description', ''))}")
        if not name:
            self._say("A call is `tool key=value key=value`, or JSON: " + escape('{"name": "...", "arguments": {...}}'))
            self._say("\n".join(f"  [bold]{word:<8}[/] {line}" for word, line in WORDS.items()))
        elif name not in [tool.name for tool in self._tools]:
            raise Mistake(f"there is no tool {name!r}")

    def _hint(self) -> ToolCall | None:
        """Return the oracle's next call, after those of its calls that were already made in its order."""
        solution = family(self._env.task.family).oracle(self._env.task)
        try:
            pending = next(solution)
            for call, result, _ in self._done:
                if call.to_json() == pending.to_json():
                    pending = solution.send(result)
            return pending
        except StopIteration:
            return None
        finally:
            solution.close()

    def _undo(self) -> None:
        if not self._done:
            raise Mistake("nothing to undo")
        call, _, before = self._done.pop()
        self._env.restore(before)
        self._say(f"took back {call.name}: {escape(self._view())}")

    def _draw(self) -> None:
        folder = self._out / self._env.task.id.replace("/", "-")
        files = self._files()
        if not files:
            raise Mistake("there is nothing to draw yet")
        if "drawing.svg" in files:
            self._say(draw(files["drawing.svg"]))
        for name, data in files.items():
            place = folder / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            self._say(f"{escape(str(place))} ({len(data)} bytes)")

    def _files(self) -> dict[str, bytes]:
        """Return the application's drawing, where it can draw, and the artifacts."""
        application: Any = open_application(self._env.task.application)
        application.restore(base64.b64decode(json.loads(self._env.snapshot())["application"]))
        drawing = {"drawing.svg": application.render()} if hasattr(application, "render") else {}
        return {**drawing, **application.artifacts()}

    def _view(self) -> str:
        return str(self._env.episode.view["text"])

    def _say(self, text: str) -> None:
        if text:
            self._console.print(text, soft_wrap=True, highlight=False)


def _lines() -> Iterator[str]:
    """Yield what the person types, with a prompt at a terminal; what is piped in is shown as if it had been typed."""
    with suppress(ImportError):
        import_module("readline")  # gives the prompt a history, where Python has it
    while True:
        if sys.stdin.isatty():
            try:
                yield input("> ")
            except (EOFError, KeyboardInterrupt):
                return
        else:
            line = sys.stdin.readline()
            if not line:
                return
            if line.strip():
                typer.echo(f"> {line.rstrip()}")
                yield line
