"""What the commands share: how an environment may be named, how a mistake is told, and how answers are printed."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from tomllib import TOMLDecodeError
from typing import Any

import typer
from pydantic import ValidationError
from rich.console import Console

from ..envs.registration import NAMESPACE
from ..envs.tasks import family_names
from ..simulators.tools import nearest

EXTRAS = {
    "cadquery": "cad",
    "docker": "docker",
    "OCP": "cad",
    "matplotlib": "train",
    "safetensors": "train",
    "tokenizers": "train",
    "torch": "train",
    "transformers": "dev",
    "stable_baselines3": "dev",
}
"""Which extra of the distribution brings a module."""


class Mistake(Exception):
    """A wrong request. Its message is one line; the command ends with exit code 2."""


def missing_extra(module: str | None) -> str | None:
    """Return the extra that brings a module which could not be found, ``None`` where it is none of ours."""
    return EXTRAS.get((module or "").partition(".")[0])


def resolve(name: str) -> str:
    """Return the family that ``name`` means: ``plate``, ``cad.plate`` and ``makerspace/cad.plate-v0`` are the same.

    Raises:
        Mistake: If there is no such family, or a short name fits several.
    """
    wanted = name.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    fitting = [family for family in family_names() if wanted in (family, family.partition(".")[2])]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise Mistake(f"{name!r} fits several environments: {', '.join(fitting)}")
    tails = {family.partition(".")[2]: family for family in family_names()}
    near = nearest(wanted, family_names()) or [tails[tail] for tail in nearest(wanted, tails)]
    guess = f"did you mean {' or '.join(near)}?" if near else "`makerspace list` names them all"
    raise Mistake(f"there is no environment {name!r}; {guess}")


def choice(what: str, given: str, choices: Iterable[str]) -> str:
    """Return what was given if it is one of the choices.

    Raises:
        Mistake: If it is not; the message names the choices.
    """
    known = list(choices)
    if given in known:
        return given
    near = nearest(given, known)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise Mistake(f"there is no {what} {given!r}; {hint}{what}s: {', '.join(known)}")


@contextmanager
def recipe_errors() -> Generator[None]:
    """Tell the first thing that is wrong with a recipe, or with an option that overrides it, as a mistake."""
    try:
        yield
    except ValidationError as refused:
        first = refused.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise Mistake(f"recipe: {place} = {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
    except TOMLDecodeError as broken:
        raise Mistake(f"recipe: {broken}") from None


def console() -> Console:
    """Return a console on standard output; where that is no terminal, the width is that of a page."""
    out = Console()
    return out if out.is_terminal else Console(width=120)


def print_json(data: Any) -> None:
    """Print data for a script."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
