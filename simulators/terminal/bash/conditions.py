"""Tests: what `[[ ]]` and `test` ask of words and files."""

from __future__ import annotations

from ..files import File, Folder, normal
from ..patterns import glob, posix
from . import syntax as s
from .arithmetic import ArithmeticFault, calculate
from .redirection import Redirecting


class Testing(Redirecting):
    """A process that can evaluate conditions."""

    def test(self, condition: s.Condition) -> bool:
        """Evaluate `[[ ... ]]`."""
        operator, operands = condition.operator, condition.operands
        if operator in ("&&", "||", "!"):
            first = isinstance(operands[0], s.Condition) and self.test(operands[0])
            if operator == "!":
                return not first
            if first == (operator == "||"):
                return first
            return isinstance(operands[1], s.Condition) and self.test(operands[1])
        words = [w for w in operands if isinstance(w, s.Word)]
        left = self.expand.text(words[0])
        if operator == "":
            return left != ""
        if len(words) == 1:
            return self.unary_test(operator, left)
        if operator in ("=", "==", "!="):
            return bool(glob(self.expand.pattern(words[1])).fullmatch(left)) == (operator != "!=")
        if operator == "=~":
            return self.match(left, self.expand.regex(words[1]))
        right = self.expand.text(words[1])
        if operator in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
            left, right = (str(calculate(t, self.expand.read, self.expand.write)) for t in (left, right))
        return self.binary_test(operator, left, right)

    def match(self, text: str, pattern: str) -> bool:
        """Match a regular expression; its groups become BASH_REMATCH."""
        found = posix(pattern, extended=True).search(text)
        groups = [found.whole(), *(g or "" for g in found.groups())] if found else []
        self.variables.set_array("BASH_REMATCH", dict(enumerate(groups)))
        return found is not None

    def unary_test(self, operator: str, operand: str) -> bool:
        """Evaluate `-f file` and its like."""
        if operator in ("-z", "-n"):
            return (operand == "") == (operator == "-z")
        if operator == "-v":
            name, _, key = operand.rstrip("]").partition("[")
            return self.variables.get(name, (int(key) if key.isdigit() else key) if key else None) is not None
        if operator == "-o":
            return operand in self.options
        if operator == "-t":
            return False
        self.flush()
        node = self.files.find(normal(operand, self.cwd), follow=operator not in ("-L", "-h")) if operand else None
        if node is None:
            return False
        if operator in ("-x", "-r", "-w"):
            return operator != "-x" or isinstance(node, Folder) or bool(node.mode & 0o111)
        return {
            "-e": True,
            "-a": True,
            "-f": isinstance(node, File) and not node.device,
            "-d": isinstance(node, Folder),
            "-s": not isinstance(node, File) or len(node.data) > 0,
            "-L": not isinstance(node, File | Folder),
            "-h": not isinstance(node, File | Folder),
            "-c": isinstance(node, File) and node.device,
            "-O": True,
            "-G": True,
            "-N": False,
        }.get(operator, False)

    def binary_test(self, operator: str, left: str, right: str) -> bool:
        """Evaluate `a -lt b` and its like.

        Raises:
            ArithmeticFault: If a number is none.
        """
        if operator in ("=", "==", "!=", "<", ">"):
            return {"=": left == right, "==": left == right, "!=": left != right, "<": left < right, ">": left > right}[
                operator
            ]
        if operator in ("-nt", "-ot", "-ef"):
            one, two = (self.files.find(normal(t, self.cwd)) for t in (left, right))
            if operator == "-ef":
                return one is not None and one is two
            times = (one.mtime if one else -1, two.mtime if two else -1)
            return times[0] > times[1] if operator == "-nt" else times[0] < times[1]
        values: list[int] = []
        for text in (left, right):
            stripped = text.strip()
            if not stripped.lstrip("+-").isdigit() or len(stripped) > 40:
                raise ArithmeticFault(f"[: {text[:40]}: integer expression expected")
            values.append(int(stripped))
        a, b = values
        return {"-eq": a == b, "-ne": a != b, "-lt": a < b, "-le": a <= b, "-gt": a > b, "-ge": a >= b}[operator]
