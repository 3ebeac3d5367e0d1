"""awk's own functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ..bash.parser import parse
from ..patterns import posix
from ..regex import Match
from .awk_evaluator import Evaluator
from .awk_syntax import Tree
from .awk_values import Input, Value, number, show, sprintf
from .base import Usage
from .dates import formatted


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


# Functions of one or two numbers.
NUMERIC: dict[str, Callable[[float, float], float]] = {
    "int": lambda x, _: float(int(x)) if math.isfinite(x) else x,
    "sqrt": lambda x, _: math.sqrt(x) if x >= 0 else math.nan,
    "exp": lambda x, _: math.exp(min(x, 700.0)),
    "log": lambda x, _: _log(x),
    "sin": lambda x, _: math.sin(x),
    "cos": lambda x, _: math.cos(x),
    "atan2": math.atan2,
    "and": lambda x, y: float(int(x) & int(y)),
    "or": lambda x, y: float(int(x) | int(y)),
    "xor": lambda x, y: float(int(x) ^ int(y)),
}


class Library(Evaluator):
    """Evaluates calls of awk's functions."""

    def ev_builtin(self, tree: Tree) -> Value:
        """Evaluate a call of one of awk's functions."""
        _, name, args = tree
        if name in ("sub", "gsub", "split", "length", "match", "gensub"):
            return getattr(self, f"fn_{name}")(args)
        values = [self.eval(a) for a in args]
        numbers = [number(v) for v in values] + [0.0, 0.0]
        texts = [show(v) for v in values] + ["", ""]
        if name == "substr":
            return self.substr(texts[0], numbers[1], numbers[2] if len(values) > 2 else None)
        if name in ("rand", "srand"):
            return self.chance(name, numbers[0] if values else float(self.runner.sh.files.now()))
        if name in ("close", "fflush"):
            self.close(texts[0])
            return 0.0
        if name == "system":
            return float(self.system(texts[0]))
        if name in NUMERIC:
            return NUMERIC[name](numbers[0], numbers[1])
        return self.textual(name, values, texts, numbers)

    def textual(self, name: str, values: list[Value], texts: list[str], numbers: list[float]) -> Value:
        """Evaluate a function of texts or of the clock."""
        now = self.runner.sh.files.now()
        if name == "index":
            return float(texts[0].find(texts[1]) + 1)
        if name == "sprintf":
            return sprintf(texts[0], values[1:])
        if name in ("tolower", "toupper"):
            return texts[0].lower() if name == "tolower" else texts[0].upper()
        if name == "systime":
            return float(now)
        if name == "strftime":
            return formatted(texts[0] or "%c", int(numbers[1]) if len(values) > 1 else now)
        raise Usage(f"function {name} is not available")

    @staticmethod
    def substr(text: str, start: float, length: float | None) -> str:
        """Return a part of a text by characters from 1."""
        if start != start or (length is not None and length != length):
            return ""
        first = round(start) if math.isfinite(start) else (-(1 << 30) if start < 0 else 1 << 30)
        last = (
            1 << 40
            if length is None or length == math.inf
            else first + (round(length) if length > -(1 << 30) else -(1 << 30))
        )
        return text[max(first, 1) - 1 : max(last - 1, 0)]

    def chance(self, name: str, seed: float) -> float:
        """Return a random number, or set the seed and return the old one."""
        if name == "rand":
            return self.random.random()
        before, self.seed = self.seed, seed
        self.random.seed(seed)
        return before

    def system(self, text: str) -> int:
        """Run a command line in a subshell."""
        shell = self.runner.sh.subshell()
        try:
            return shell.run_to_end(parse(text, shell.calls))
        except SyntaxError:
            return 2

    def fn_length(self, args: list[Tree]) -> Value:
        """Carry out `length`."""
        if not args:
            return float(len(self.record))
        if args[0][0] == "var" and isinstance(self.scope(args[0][1]).get(args[0][1]), dict):
            return float(len(self.array(args[0][1])))
        return float(len(show(self.eval(args[0]))))

    def fn_split(self, args: list[Tree]) -> Value:
        """Carry out `split`."""
        if len(args) < 2 or args[1][0] != "var":
            raise Usage("split: second argument is not an array")
        text = show(self.eval(args[0]))
        separator = (
            self.text("FS") if len(args) < 3 else args[2][1] if args[2][0] == "regex" else show(self.eval(args[2]))
        )
        if len(args) > 2 and args[2][0] == "regex" and len(separator) == 1 and separator not in " \\":
            parts = posix(separator, extended=True).split(text) if text else []
        else:
            parts = self.split(text, separator)
        array = self.array(args[1][1])
        array.clear()
        array.update({str(i): Input(p) for i, p in enumerate(parts, 1)})
        return float(len(parts))

    def fn_match(self, args: list[Tree]) -> Value:
        """Carry out `match`."""
        found = self.regex_of(args[1]).search(show(self.eval(args[0])))
        self.variables["RSTART"] = float(found.start() + 1) if found else 0.0
        self.variables["RLENGTH"] = float(len(found.whole())) if found else -1.0
        if len(args) > 2 and args[2][0] == "var":
            array = self.array(args[2][1])
            array.clear()
            if found:
                array.update({str(i): Input(found[i] or "") for i in range(len(found.groups()) + 1)})
        return self.variables["RSTART"]

    def fn_sub(self, args: list[Tree]) -> Value:
        """Carry out `sub`."""
        return self.substitute(args, 1)

    def fn_gsub(self, args: list[Tree]) -> Value:
        """Carry out `gsub`."""
        return self.substitute(args, 0)

    def fn_gensub(self, args: list[Tree]) -> Value:
        """Carry out `gensub`."""
        regex, new, how = self.regex_of(args[0]), show(self.eval(args[1])), show(self.eval(args[2]))
        text = show(self.eval(args[3])) if len(args) > 3 else self.record
        parts = re.split(r"(\\\\|\\&|\\\d|&)", new)
        seen, wanted = [0], 0 if how[:1] in ("g", "G") else max(int(number(how)), 1)

        def part(match: Match, text: str) -> str:
            if text in ("&", "\\0"):
                return match.whole()
            if re.fullmatch(r"\\\d", text):
                return (match[int(text[1])] or "") if int(text[1]) <= regex.groups else ""
            return text.removeprefix("\\") if text in ("\\\\", "\\&") else text

        def fill(match: Match) -> str:
            seen[0] += 1
            return match.whole() if wanted and seen[0] != wanted else "".join(part(match, p) for p in parts)

        return regex.replaced(text, fill)[0]

    def substitute(self, args: list[Tree], count: int) -> Value:
        """Carry out `sub` or `gsub`."""
        if len(args) < 2:
            raise Usage("sub: not enough arguments")
        regex, new = self.regex_of(args[0]), show(self.eval(args[1]))
        place = args[2] if len(args) > 2 else ("field", ("num", 0.0))
        text = show(self.eval(place))
        parts = re.split(r"(\\\\&|\\&|&)", new)

        def fill(match: Match) -> str:
            found = match.whole()
            return "".join({"&": found, "\\&": "&", "\\\\&": "\\" + found}.get(p, p) for p in parts)

        result, made = regex.replaced(text, fill, count)
        if made:
            self.store(place, result if place[0] != "field" else Input(result))
        return float(made)
