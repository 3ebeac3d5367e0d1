"""Builtins that declare and remove variables: export, readonly, declare, local, unset."""

from __future__ import annotations

import re

from .arithmetic import calculate
from .machine import Command, Machine
from .registry import BUILTINS, builtin, fault
from .variables import ReadOnly

IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@builtin("unset")
def unset(sh: Machine, args: list[str]) -> int:
    """Remove variables, elements or functions."""
    functions = "-f" in args[:1]
    for name in args:
        match = re.fullmatch(r"([A-Za-z_]\w*)\[(.*)\]", name)
        if match:
            key = match[2].strip("'\"")
            sh.variables.unset(
                match[1],
                key if match[1] in sh.variables.associative else calculate(key, sh.expand.read, sh.expand.write),
            )
        elif not name.startswith("-"):
            if functions or (name not in sh.variables.values and name in sh.functions):
                sh.functions.pop(name, None)
            else:
                try:
                    sh.variables.unset(name)
                except ReadOnly:
                    return fault(sh, f"unset: {name}: cannot unset: readonly variable")
    return 0


def declaration(kind: str) -> Command:
    """Return `export`, `readonly`, `declare` or `local`."""

    def run(sh: Machine, args: list[str]) -> int:
        flags = (
            {f for a in args if re.fullmatch(r"[-+][a-zA-Z]+", a) for f in a[1:]}
            if kind != "local" or args[:1] != ["-"]
            else set[str]()
        )
        names = [a for a in args if not re.fullmatch(r"[-+][a-zA-Z]+|--", a)]
        if kind == "local" and not sh.variables.scopes:
            return fault(sh, "local: can only be used in a function")
        if not names or ("p" in flags and kind != "export"):
            return _listed(sh, kind, names)
        removing = any(a.startswith("+") for a in args)
        if kind == "export" and "n" in flags:
            sh.variables.exported -= set(names)
            return 0
        code, i = 0, 0
        while i < len(names):
            i, each = _declared(sh, names, i, kind, set() if removing else flags)
            code = max(code, each)
        return code

    return run


def _listed(sh: Machine, kind: str, names: list[str]) -> int:
    chosen = names or sorted(
        sh.variables.exported
        if kind == "export"
        else sh.variables.read_only
        if kind == "readonly"
        else sh.variables.values
    )
    for name in chosen:
        value = sh.variables.values.get(name)
        if value is None:
            continue
        mark = "-x" if name in sh.variables.exported else "-r" if name in sh.variables.read_only else "--"
        if isinstance(value, str):
            sh.stdout.write(f'declare {mark} {name}="{value}"\n')
        else:
            body = " ".join(f'[{key}]="{text}"' for key, text in sh.variables.elements(name))
            sh.stdout.write(f"declare -{'A' if name in sh.variables.associative else 'a'} {name}=({body})\n")
    return 0


def _declared(sh: Machine, words: list[str], i: int, kind: str, flags: set[str]) -> tuple[int, int]:
    """Carry out one operand, which starts at word `i`; returns where the next starts, and a code."""
    name, equals, value = words[i].partition("=")
    append = name.endswith("+")
    name = name.removesuffix("+")
    if not IDENTIFIER.fullmatch(name):
        return i + 1, fault(sh, f"{kind}: `{words[i]}': not a valid identifier")
    if kind == "local" or (kind == "declare" and sh.variables.scopes and "g" not in flags):
        sh.variables.local(name)
    if "A" in flags:
        sh.variables.associative.add(name)
    if "i" in flags:
        sh.variables.integers.add(name)
    following = i + 1
    if equals and value == "(":
        pairs, following = _array(words, i + 1)
        sh.assign_array(name, pairs, append)
    elif equals:
        sh.set(name, value, append=append)
    elif flags & {"a", "A"} and name not in sh.variables.values:
        sh.variables.values[name] = {}
    if kind == "export" or "x" in flags:
        sh.variables.exported.add(name)
    if kind == "readonly" or "r" in flags:
        sh.variables.read_only.add(name)
    return following, 0


def _array(words: list[str], i: int) -> tuple[list[tuple[str | None, str]], int]:
    pairs: list[tuple[str | None, str]] = []
    while i < len(words) and words[i] != "\0)":
        text = words[i].removeprefix("\0")
        match = re.fullmatch(r"\[([^\]]*)\]=(.*)", text, re.DOTALL)
        pairs.append((match[1], match[2]) if match else (None, text))
        i += 1
    return pairs, i + 1


for _kind_name in ("export", "readonly", "local"):
    BUILTINS[_kind_name] = declaration(_kind_name)
BUILTINS["declare"] = BUILTINS["typeset"] = declaration("declare")
