"""Builtins that read: read, mapfile, getopts."""

from __future__ import annotations

import re

from ..streams import Source
from .machine import Machine
from .registry import builtin, fault


@builtin("read")
def read(sh: Machine, args: list[str]) -> int:
    """Read one line into variables."""
    raw, delimiter, array, count, source, names = _read_options(sh, args)
    line = _line(source, raw, delimiter, count)
    ended = line is None or (delimiter != "" and not line.endswith(delimiter) and count is None)
    text = (line or "").removesuffix(delimiter) if delimiter else (line or "")
    separators = sh.variables.get("IFS")
    separators = " \t\n" if separators is None else separators
    if array:
        sh.assign_array(array, [(None, f) for f in _fields(text, separators, -1, raw)])
    elif not names:
        sh.variables.set("REPLY", text if raw else re.sub(r"\\(.)", r"\1", text))
    else:
        fields = _fields(text, separators, len(names), raw)
        for i, name in enumerate(names):
            sh.variables.set(name, fields[i] if i < len(fields) else "")
    return int(ended)


def _read_options(sh: Machine, args: list[str]) -> tuple[bool, str, str, int | None, Source, list[str]]:
    raw, delimiter, array, count, source = False, "\n", "", None, sh.stdin
    i = 0
    while i < len(args) and args[i].startswith("-") and len(args[i]) > 1:
        letters = args[i][1:]
        i += 1
        for n, letter in enumerate(letters):
            if letter == "r":
                raw = True
            elif letter in "dapntuN":
                value = letters[n + 1 :] or (args[i] if i < len(args) else "")
                i += not letters[n + 1 :]
                delimiter = value[:1] if letter == "d" else delimiter
                array = value if letter == "a" else array
                count = int(value) if letter in "nN" and value.isdigit() and len(value) < 9 else count
                stream = sh.extra.get(int(value)) if letter == "u" and value.isdigit() and len(value) < 4 else None
                source = stream if isinstance(stream, Source) else source
                break
    return raw, delimiter, array, count, source, args[i:]


def _line(source: Source, raw: bool, delimiter: str, count: int | None) -> str | None:
    if count is not None:
        found = source.text[source.at : source.at + count].partition("\n")[0]
        source.at += len(found) + (len(found) < count)
        return found or None
    line = source.line(delimiter)
    while line is not None and not raw and re.search(r"(?<!\\)(?:\\\\)*\\\n\Z", line):
        line = line[:-2] + (source.line(delimiter) or "")
    return line


def _fields(text: str, separators: str, limit: int, raw: bool) -> list[str]:
    """Split a line as `read` does: at most `limit` fields, the last one takes the rest."""
    soft = "".join(c for c in separators if c in " \t\n")
    hard = "".join(c for c in separators if c not in " \t\n")
    fields: list[str] = []
    rest = text.strip(soft) if soft else text
    delimiter = (
        re.compile(
            rf"[{re.escape(soft)}]*[{re.escape(hard)}][{re.escape(soft)}]*"
            + (rf"|[{re.escape(soft)}]+" if soft else "")
            if hard and soft
            else f"[{re.escape(hard + soft)}]" + ("+" if soft and not hard else "")
        )
        if separators
        else None
    )
    while delimiter and rest and len(fields) != limit - 1:
        match = delimiter.search(rest)
        if not match:
            break
        fields.append(rest[: match.start()])
        rest = rest[match.end() :]
        if not rest:
            break
    if rest:
        if (
            hard
            and limit > 0
            and len(fields) == limit - 1
            and rest[-1] in hard
            and not any(c in hard for c in rest[:-1])
        ):
            rest = rest[:-1]
        fields.append(rest)
    return fields if raw else [re.sub(r"\\(.)", r"\1", f) for f in fields]


@builtin("mapfile", "readarray")
def mapfile(sh: Machine, args: list[str]) -> int:
    """Read lines into an array."""
    strip = "-t" in args
    names = [a for a in args if not a.startswith("-")]
    lines: list[str] = []
    while (line := sh.stdin.line()) is not None:
        lines.append(line.removesuffix("\n") if strip else line)
    sh.variables.set_array(names[-1] if names else "MAPFILE", dict(enumerate(lines)))
    return 0


@builtin("getopts")
def getopts(sh: Machine, args: list[str]) -> int:
    """Take the next option from the positional parameters."""
    if len(args) < 2:
        return fault(sh, "getopts: usage: getopts optstring name [arg ...]", 2)
    spec, name, words = args[0], args[1], args[2:] or sh.arguments
    index = int(sh.variables.get("OPTIND") or 1)
    place = int(sh.variables.get("_OPTPOS") or 1)
    if not 1 <= index <= len(words) or not words[index - 1].startswith("-") or words[index - 1] in ("-", "--"):
        sh.variables.set(name, "?")
        return 1
    word = words[index - 1]
    letter = word[place : place + 1]
    place += 1
    takes = spec.find(letter)
    value = None
    if takes >= 0 and spec[takes + 1 : takes + 2] == ":":
        value = word[place:] or (words[index] if index < len(words) else "")
        index += not word[place:]
        place = len(word)
    if place >= len(word):
        index, place = index + 1, 1
    sh.variables.set(name, letter if takes >= 0 and letter != ":" else "?")
    sh.variables.set("OPTARG", value or "")
    sh.variables.set("OPTIND", str(index))
    sh.variables.set("_OPTPOS", str(place))
    return 0
