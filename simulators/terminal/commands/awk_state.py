"""The state of one awk: variables, the record and its fields, inputs and output files."""

from __future__ import annotations

import random
import re
from typing import Any

from ..bash.words import unescape
from ..meter import MAX_OUTPUT, Stopped
from ..patterns import posix
from .awk_syntax import Tree
from .awk_values import Input, Value, number, show
from .base import Run, Usage

# Steps that one program may take.
MAX_STEPS = 400_000
# Highest field number.
MAX_FIELD = 10_000


class State:
    """Variables, the record and its fields, inputs and output files of one awk."""

    def __init__(self, run: Run, rules: list[Tree], functions: dict[str, tuple[list[str], Tree]]) -> None:
        self.runner, self.rules, self.functions = run, rules, functions
        self.variables: dict[str, Any] = {
            "FS": " ",
            "OFS": " ",
            "ORS": "\n",
            "RS": "\n",
            "NR": 0.0,
            "FNR": 0.0,
            "NF": 0.0,
            "SUBSEP": "\x1c",
            "RSTART": 0.0,
            "RLENGTH": -1.0,
            "OFMT": "%.6g",
            "CONVFMT": "%.6g",
            "FILENAME": "",
            "ENVIRON": {k: Input(v) for k, v in run.sh.variables.environment().items()},
        }
        self.locals: list[dict[str, Any]] = []
        self.record = ""
        self.fields: list[str] | None = []
        self.queue: list[str] = []
        self.records: list[str] = []
        self.ranges: set[int] = set()
        self.steps = 0
        self.random, self.seed = random.Random(0), 0.0
        self.files: dict[str, list[str]] = {}
        self.readers: dict[str, list[str]] = {}
        self.code = 0
        self.opened = False
        self.has_input = any(r[0] != "BEGIN" for r in rules)

    def step(self) -> None:
        """Count a step."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Stopped("awk: too many steps")

    def next_record(self) -> bool:
        """Go to the next record of the inputs."""
        while not self.records:
            if not self._open():
                return False
        self.set_record(self.records.pop())
        self.variables["NR"] = number(self.variables["NR"]) + 1
        self.variables["FNR"] = number(self.variables["FNR"]) + 1
        return True

    def _open(self) -> bool:
        while self.queue:
            name = self.queue.pop(0)
            if re.match(r"[A-Za-z_]\w*=", name):
                self.assign_text(name)
                continue
            self.opened = True
            try:
                self.read_text(self.runner.read(name), name)
            except OSError as problem:
                self.runner.error(f'cannot open "{name}" ({problem.strerror})', 2)
                self.code = 2
                continue
            return True
        if self.opened:
            return False
        self.opened = True
        self.read_text(self.runner.sh.stdin.rest(), "")
        return True

    def read_text(self, text: str, name: str) -> None:
        """Make a text the present input."""
        self.variables["FILENAME"], self.variables["FNR"] = name, 0.0
        self.records = self.cut(text)[::-1]

    def cut(self, text: str) -> list[str]:
        """Return the records of a text."""
        mark = self.text("RS")
        if mark == "":
            return [p for p in re.split(r"\n\n+", text.strip("\n")) if p]
        parts = text.split(mark) if len(mark) == 1 else posix(mark, extended=True).split(text)
        if parts and parts[-1] in ("", "\n" if mark != "\n" else ""):
            parts.pop()
        return parts

    def assign_text(self, text: str) -> None:
        """Carry out `name=value` from the command line."""
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Usage(f"`{text[:40]}' argument to `-v' not in `var=value' form")
        self.set_variable(name, Input(unescape(value)))

    # Fields

    def set_record(self, text: str) -> None:
        """Make a text the present record."""
        self.record, self.fields = text, None
        self.variables["NF"] = None

    def split_fields(self) -> list[str]:
        """Return the fields of the record."""
        if self.fields is None:
            self.fields = self.split(self.record, self.text("FS"))
            self.variables["NF"] = float(len(self.fields))
        return self.fields

    def split(self, text: str, separator: str) -> list[str]:
        """Return the fields of a text."""
        if separator == " ":
            return text.split()
        if text == "":
            return []
        if self.text("RS") == "" and separator != "\n":
            return [f for part in text.split("\n") for f in self._split_line(part, separator)]
        return self._split_line(text, separator)

    def _split_line(self, text: str, separator: str) -> list[str]:
        if separator == "":
            return list(text)
        if len(separator) == 1:
            return text.split(separator)
        return posix(separator, extended=True).split(text)

    def field(self, index: float) -> Value:
        """Return a field by number."""
        i = int(index)
        if i < 0:
            raise Usage(f"trying to access out of range field {i}")
        if i == 0:
            return Input(self.record)
        fields = self.split_fields()
        return Input(fields[i - 1]) if i <= len(fields) else Input("")

    def set_field(self, index: float, value: str) -> None:
        """Set a field by number."""
        i = int(index)
        if not 0 <= i <= MAX_FIELD:
            raise Usage(f"trying to access out of range field {i}")
        if i == 0:
            self.set_record(value)
            return
        fields = self.split_fields()
        fields += [""] * (i - len(fields))
        fields[i - 1] = value
        self.rebuild()

    def rebuild(self) -> None:
        """Join the fields to a new record."""
        fields = self.split_fields()
        self.variables["NF"] = float(len(fields))
        self.record = self.text("OFS").join(fields)

    # Variables

    def scope(self, name: str) -> dict[str, Any]:
        """Return the variables among which a name is found."""
        return self.locals[-1] if self.locals and name in self.locals[-1] else self.variables

    def variable(self, name: str) -> Value:
        """Return a variable."""
        if name == "NF":
            self.split_fields()
        value = self.scope(name).get(name)
        if isinstance(value, dict):
            raise Usage(f"can't use array {name} in scalar context")
        return Input("") if value is None else value

    def set_variable(self, name: str, value: Value) -> None:
        """Set a variable."""
        scope = self.scope(name)
        if isinstance(scope.get(name), dict):
            raise Usage(f"can't use array {name} in scalar context")
        if isinstance(value, str) and len(value) > MAX_OUTPUT:
            raise Stopped(f"a value of more than {MAX_OUTPUT} characters")
        if name == "NF":
            fields = self.split_fields()
            size = min(max(int(number(value)), 0), MAX_FIELD)
            del fields[size:]
            fields += [""] * (size - len(fields))
            self.rebuild()
            return
        scope[name] = value

    def array(self, name: str) -> dict[str, Any]:
        """Return an array, made if it is not there."""
        scope = self.scope(name)
        value = scope.get(name)
        if value is None:
            value = scope[name] = {}
        if not isinstance(value, dict):
            raise Usage(f"can't use scalar {name} as array")
        return value  # pyright: ignore[reportUnknownVariableType]

    def text(self, name: str) -> str:
        """Return a variable as a text."""
        return show(self.variables[name])

    def write(self, text: str, operator: str = "", name: str | None = None) -> None:
        """Write to standard output, or to a file by name."""
        if name is None:
            self.runner.out(text)
            return
        if name in ("/dev/stdout", "/dev/stderr", "-"):
            (self.runner.sh.stderr if name == "/dev/stderr" else self.runner.sh.stdout).write(text)
            return
        if name not in self.files:
            self.files[name] = []
            self.runner.write(name, "", append=operator == ">>")
        self.files[name].append(text)
        self.runner.sh.meter.charge(len(text))

    def close_all(self) -> None:
        """Write what is left for files."""
        for name in list(self.files):
            self.close(name)

    def close(self, name: str) -> None:
        """Write what is left for one file."""
        if parts := self.files.pop(name, None):
            self.runner.write(name, "".join(parts), append=True)
