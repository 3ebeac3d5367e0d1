"""awk: its statements and its rules. Values, state, expressions and functions stand in the modules beside it."""

from __future__ import annotations

import re
from contextlib import suppress

from ..bash.words import unescape
from ..patterns import PatternError
from .awk_functions import Library
from .awk_syntax import AwkParser, Tree
from .awk_values import Break, Continue, Exit, Give, Input, Next, number, show, sprintf
from .base import Run, Usage, program


@program(
    "awk", "gawk", "mawk", "nawk", short="F:v:f:", long=("field-separator=", "assign=", "file="), misuse=2, early=True
)
def awk(run: Run) -> int:
    """Run a program over the fields of lines."""
    texts = [run.read(name) for name in run.all("f", "file")]
    if not texts:
        if not run.args:
            raise Usage("usage: awk [-F fs][-v var=value][prog | -f progfile][file ...]")
        texts = [run.args.pop(0)]
    try:
        machine = Machine(run, *AwkParser("\n".join(texts)).program())
        separator = run.get("F", "field-separator")
        if separator is not None:
            machine.variables["FS"] = "\t" if separator == "t" else unescape(separator)
        for assignment in run.all("v", "assign"):
            machine.assign_text(assignment)
        code = machine.run(run.args)
        machine.close_all()
        return code
    except (PatternError, Usage) as problem:
        return run.error(str(problem), 2)
    except (OverflowError, ValueError, ZeroDivisionError, RecursionError) as problem:
        return run.error(str(problem)[:80] or type(problem).__name__, 2)


class Machine(Library):
    """One awk program at work."""

    def run(self, names: list[str]) -> int:
        """Run all rules over all inputs; returns the exit code."""
        self.queue = list(names)
        self.variables["ARGC"] = float(len(names) + 1)
        self.variables["ARGV"] = {"0": "awk"} | {str(i): Input(n) for i, n in enumerate(names, 1)}
        self.opened = False
        with suppress(Exit):
            self.sections("BEGIN")
            while self.has_input and self.next_record():
                with suppress(Next):
                    self.rules_once()
        with suppress(Exit):
            self.sections("END")
        return self.code

    def sections(self, kind: str) -> None:
        """Run the rules of `BEGIN` or `END`."""
        for rule in self.rules:
            if rule[0] == kind:
                try:
                    self.do(rule[3])
                except Next:
                    raise Usage(f"`next' used in {kind} action") from None

    def rules_once(self) -> None:
        """Run the rules over the present record."""
        for i, (kind, first, last, body) in enumerate(self.rules):
            if kind != "rule" or not self.chosen(i, first, last):
                continue
            if body is None:
                self.write(self.record + self.text("ORS"))
            else:
                self.do(body)

    def chosen(self, i: int, first: Tree | None, last: Tree | None) -> bool:
        """Tell whether a rule applies to the present record."""
        if first is None:
            return True
        if last is None:
            return self.true(self.eval(first))
        if i not in self.ranges:
            if not self.true(self.eval(first)):
                return False
            self.ranges.add(i)
        if self.true(self.eval(last)):
            self.ranges.discard(i)
        return True

    # Statements

    def do(self, tree: Tree) -> None:
        """Run a statement."""
        self.step()
        getattr(self, f"do_{tree[0]}")(*tree[1:])

    def do_block(self, body: list[Tree]) -> None:
        """Run statements one after another."""
        for tree in body:
            self.do(tree)

    def do_expr(self, tree: Tree) -> None:
        """Run an expression for its effects."""
        self.eval(tree)

    def do_if(self, test: Tree, yes: Tree, no: Tree | None) -> None:
        """Run `if`."""
        if self.true(self.eval(test)):
            self.do(yes)
        elif no:
            self.do(no)

    def loop(self, body: Tree) -> bool:
        """Run a body once; returns whether the loop goes on."""
        try:
            self.do(body)
        except Continue:
            pass
        except Break:
            return False
        return True

    def do_while(self, test: Tree, body: Tree) -> None:
        """Run `while`."""
        while self.true(self.eval(test)) and self.loop(body):
            self.step()

    def do_do(self, body: Tree, test: Tree) -> None:
        """Run `do ... while`."""
        while self.loop(body) and self.true(self.eval(test)):
            self.step()

    def do_for(self, start: Tree | None, test: Tree | None, step: Tree | None, body: Tree) -> None:
        """Run `for`."""
        if start:
            self.do(start)
        while test is None or self.true(self.eval(test)):
            if not self.loop(body):
                break
            if step:
                self.do(step)

    def do_each(self, name: str, array: str, body: Tree) -> None:
        """Run `for (name in array)`."""
        keys = list(self.array(array))
        keys.sort(key=lambda k: (0, float(k), "") if re.fullmatch(r"-?\d{1,15}", k) else (1, 0.0, k))
        for key in keys:
            self.set_variable(name, Input(key))
            if not self.loop(body):
                break

    def do_next(self) -> None:
        """Run `next`."""
        raise Next

    def do_nextfile(self) -> None:
        """Run `nextfile`."""
        self.records = []
        raise Next

    def do_break(self) -> None:
        """Run `break`."""
        raise Break

    def do_continue(self) -> None:
        """Run `continue`."""
        raise Continue

    def do_exit(self, tree: Tree | None) -> None:
        """Run `exit`."""
        if tree is not None:
            self.code = int(number(self.eval(tree))) & 255
        raise Exit

    def do_return(self, tree: Tree | None) -> None:
        """Run `return`."""
        raise Give(self.eval(tree) if tree else Input(""))

    def do_delete(self, name: str, keys: list[Tree] | None) -> None:
        """Run `delete`."""
        if keys is None:
            self.array(name).clear()
        else:
            self.array(name).pop(self.key(keys), None)

    def do_print(self, args: list[Tree], operator: str, target: Tree | None) -> None:
        """Run `print`."""
        if args:
            values = [self.eval(a) for a in args]
            text = self.text("OFS").join(show(v, self.text("OFMT")) for v in values)
        else:
            text = self.record
        self.write(text + self.text("ORS"), operator, self.target(target))

    def do_printf(self, args: list[Tree], operator: str, target: Tree | None) -> None:
        """Run `printf`."""
        values = [self.eval(a) for a in args]
        if not values:
            raise Usage("printf: no format")
        self.write(sprintf(show(values[0]), values[1:]), operator, self.target(target))

    def target(self, tree: Tree | None) -> str | None:
        """Return the name of the file that a print goes to."""
        return None if tree is None else show(self.eval(tree))
