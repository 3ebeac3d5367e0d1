"""Programs that change files and folders: cp, mv, rm, mkdir, rmdir, touch, ln, chmod, mktemp.

And those that only change their names: readlink, realpath, basename, dirname.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..files import File, Folder, Link, Node, fail, normal, totals
from .base import Run, Usage, program
from .dates import moment


def targets(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the (source, destination) operands of cp and mv.

    Raises:
        Usage: If operands are missing or the last one had to be a folder.
    """
    into = run.get("t", "target-directory")
    sources = list(run.args) if into is not None else run.args[:-1]
    if not run.args:
        raise Usage("missing file operand")
    if not sources:
        raise Usage(f"missing destination file operand after '{run.args[0]}'")
    goal = into if into is not None else run.args[-1]
    folder = isinstance(run.sh.files.find(run.path(goal)), Folder) and not run.has("T")
    if len(sources) > 1 and not folder:
        exists = run.sh.files.find(run.path(goal)) is not None
        raise Usage(f"target '{goal}': {'Not a directory' if exists else 'No such file or directory'}")
    for source in sources:
        base = source.rstrip("/").rpartition("/")[2]
        yield source, f"{goal.rstrip('/') or '/'}/{base}" if folder and base not in ("", ".", "..") else goal


@program(
    "cp",
    short="rRafipnvut:TLPd",
    long=(
        "recursive",
        "archive",
        "force",
        "no-clobber",
        "preserve",
        "verbose",
        "target-directory=",
        "update",
        "no-target-directory",
    ),
)
def cp(run: Run) -> None:
    """Copy files and folders."""
    files = run.sh.files
    run.sh.flush()
    for source, goal in targets(run):
        node = files.find(run.path(source))
        if node is None:
            run.error(f"cannot stat '{source}': No such file or directory")
        elif isinstance(node, Folder) and not run.has("r", "R", "a", "recursive", "archive"):
            run.error(f"-r not specified; omitting directory '{source}'")
        elif node is files.find(run.path(goal)):
            run.error(f"'{source}' and '{goal}' are the same file")
        elif isinstance(node, Folder) and any(child is files.locate(run.path(goal))[0] for child in _below(node)):
            run.error(f"cannot copy a directory, '{source}', into itself, '{goal}'")
        elif not (run.has("n", "no-clobber") and files.find(run.path(goal))):
            _copy(run, node, source, goal)


def _below(node: Folder) -> Iterator[Folder]:
    yield node
    for child in node.entries.values():
        if isinstance(child, Folder):
            yield from _below(child)


def _copy(run: Run, node: Node, source: str, goal: str) -> None:
    if isinstance(node, File) and isinstance(run.sh.files.find(run.path(goal)), Folder):
        run.error(f"cannot overwrite directory '{goal}' with non-directory")
        return
    if isinstance(node, Folder) and isinstance(run.sh.files.find(run.path(goal)), File):
        run.error(f"cannot overwrite non-directory '{goal}' with directory '{source}'")
        return
    run.sh.meter.charge(totals(node)[1])
    try:
        run.sh.files.copy(run.path(source), run.path(goal))
    except OSError as problem:
        run.error(
            f"cannot create {'directory' if isinstance(node, Folder) else 'regular file'} '{goal}': {problem.strerror}"
        )
        return
    if run.has("v", "verbose"):
        run.out(f"'{source}' -> '{goal}'\n")


@program("mv", short="finvut:T", long=("force", "no-clobber", "verbose", "target-directory=", "no-target-directory"))
def mv(run: Run) -> None:
    """Move files and folders."""
    run.sh.flush()
    for source, goal in targets(run):
        node = run.sh.files.find(run.path(source), follow=False)
        if node is None:
            run.error(f"cannot stat '{source}': No such file or directory")
        elif node is run.sh.files.find(run.path(goal), follow=False):
            run.error(f"'{source}' and '{goal}' are the same file")
        elif not (run.has("n", "no-clobber") and run.sh.files.find(run.path(goal))):
            try:
                run.sh.files.rename(run.path(source), run.path(goal))
            except OSError as problem:
                into = f"a subdirectory of itself, '{goal}'" if problem.errno == 22 else f"'{goal}': {problem.strerror}"
                run.error(f"cannot move '{source}' to {into}")
                continue
            if run.has("v", "verbose"):
                run.out(f"renamed '{source}' -> '{goal}'\n")


@program("rm", short="rRfdiIv", long=("recursive", "force", "dir", "verbose"))
def rm(run: Run) -> None:
    """Remove files and folders."""
    if not run.args and not run.has("f", "force"):
        raise Usage("missing operand")
    run.sh.flush()
    for name in run.args:
        node = run.sh.files.find(run.path(name), follow=False)
        if node is None:
            if not run.has("f", "force"):
                run.error(f"cannot remove '{name}': No such file or directory")
        elif isinstance(node, Folder) and not run.has("r", "R", "recursive", "d", "dir"):
            run.error(f"cannot remove '{name}': Is a directory")
        elif name.rstrip("/").rpartition("/")[2] in (".", "..") or node is run.sh.files.root:
            run.error(f"refusing to remove '.' or '..' directory: skipping '{name}'")
        else:
            try:
                run.sh.files.remove(run.path(name), run.has("r", "R", "recursive"))
            except OSError as problem:
                run.error(f"cannot remove '{name}': {problem.strerror}")
                continue
            if run.has("v", "verbose"):
                run.out(f"removed {'directory ' if isinstance(node, Folder) else ''}'{name}'\n")


@program("mkdir", short="pvm:", long=("parents", "verbose", "mode="))
def mkdir(run: Run) -> None:
    """Make folders."""
    if not run.args:
        raise Usage("missing operand")
    for name in run.args:
        try:
            run.sh.files.mkdir(run.path(name), run.has("p", "parents"))
        except OSError as problem:
            run.error(f"cannot create directory '{name}': {problem.strerror}")
            continue
        mode = run.get("m", "mode")
        if mode and re.fullmatch("[0-7]{3,4}", mode):
            run.sh.files.get(run.path(name)).mode = int(mode, 8)


@program("rmdir", short="pv", long=("parents", "ignore-fail-on-non-empty"))
def rmdir(run: Run) -> None:
    """Remove empty folders."""
    for name in run.args:
        names = [name]
        while run.has("p", "parents") and "/" in names[-1].strip("/"):
            names.append(names[-1].rstrip("/").rpartition("/")[0])
        for each in names:
            node = run.sh.files.find(run.path(each), follow=False)
            try:
                if node is not None and not isinstance(node, Folder):
                    raise fail(20, each)
                run.sh.files.remove(run.path(each))
            except OSError as problem:
                run.error(f"failed to remove '{each}': {problem.strerror}")
                break


@program("touch", short="acmt:d:r:", long=("no-create", "date=", "reference="))
def touch(run: Run) -> None:
    """Make empty files, or set times."""
    text, reference = run.get("d", "date"), run.get("r", "reference")
    when = run.sh.files.now()
    if reference is not None:
        when = run.sh.files.get(run.path(reference)).mtime
    elif text is not None:
        found = moment(text, when)
        if found is None:
            raise Usage(f"invalid date format '{text[:60]}'")
        when = found
    for name in run.args:
        node = run.sh.files.find(run.path(name))
        if node is None and run.has("c", "no-create"):
            continue
        try:
            if node is None:
                run.sh.files.write(run.path(name), b"")
            run.sh.files.get(run.path(name)).mtime = when
        except OSError as problem:
            run.error(f"cannot touch '{name}': {problem.strerror}")


@program("ln", short="sfnvrT", long=("symbolic", "force", "verbose"))
def ln(run: Run) -> None:
    """Make links; a hard link is a copy here."""
    args = [*run.args, "."] if len(run.args) == 1 else run.args
    if not args:
        raise Usage("missing file operand")
    goal = args[-1]
    folder = isinstance(run.sh.files.find(run.path(goal)), Folder) and not (run.has("n") and run.has("s"))
    for source in args[:-1]:
        name = f"{goal}/{source.rstrip('/').rpartition('/')[2]}" if folder else goal
        path = run.path(name)
        if run.sh.files.find(path, follow=False) is not None:
            if not run.has("f", "force"):
                run.error(
                    f"failed to create {'symbolic' if run.has('s', 'symbolic') else 'hard'} link '{name}': File exists"
                )
                continue
            run.sh.files.remove(path)
        if run.has("s", "symbolic"):
            run.sh.files.symlink(source, path)
        elif isinstance(run.sh.files.find(run.path(source)), File):
            run.sh.files.copy(run.path(source), path)
        else:
            run.error(f"failed to access '{source}': No such file or directory")


@program("readlink", "realpath", short="femnqsz", long=("canonicalize",))
def readlink(run: Run) -> None:
    """Write where links point, or paths without links."""
    for name in run.args:
        node = run.sh.files.find(run.path(name), follow=False)
        if run.name == "realpath" or run.has("f", "e", "m", "canonicalize"):
            if node is None and run.name == "realpath" and run.sh.files.find(normal("..", run.path(name))) is None:
                run.error(f"{name}: No such file or directory")
                continue
            run.out(run.sh.files.real(run.path(name)) + "\n")
        elif isinstance(node, Link):
            run.out(node.target + ("" if run.has("n") else "\n"))
        else:
            run.failed = 1


@program("chmod", raw=True)
def chmod(run: Run) -> int | None:
    """Set modes."""
    recursive = any(a in ("-R", "--recursive") for a in run.args)
    args = [a for a in run.args if a not in ("-R", "--recursive", "-v", "-f")]
    if len(args) < 2:
        return run.error("missing operand")
    for name in args[1:]:
        node = run.sh.files.find(run.path(name))
        if node is None:
            run.error(f"cannot access '{name}': No such file or directory")
            continue
        for _, each in run.sh.files.walk(run.path(name)) if recursive else [(name, node)]:
            mode = changed(args[0], each.mode, isinstance(each, Folder))
            if mode is None:
                return run.error(f"invalid mode: '{args[0][:40]}'")
            each.mode = mode
    return None


def changed(spec: str, mode: int, folder: bool) -> int | None:
    """Return a mode after `755` or `u+x,go-w`; `None` if the text is neither."""
    if re.fullmatch(r"[0-7]{1,4}", spec):
        return int(spec, 8)
    for clause in spec.split(","):
        match = re.fullmatch(r"([ugoa]*)((?:[-+=][rwxX]*)+)", clause)
        if not match:
            return None
        who = match[1].replace("a", "ugo") or "ugo"
        for sign, letters in re.findall(r"([-+=])([rwxX]*)", match[2]):
            bits = sum({"r": 4, "w": 2, "x": 1, "X": 1 if folder or mode & 0o111 else 0}[c] for c in set(letters))
            for each in who:
                shift = {"u": 6, "g": 3, "o": 0}[each]
                mode = (
                    mode & ~(7 << shift) | bits << shift
                    if sign == "="
                    else mode | bits << shift
                    if sign == "+"
                    else mode & ~(bits << shift)
                )
    return mode


@program("basename", short="as:z", long=("suffix=", "multiple"), early=True)
def basename(run: Run) -> int | None:
    """Write paths without their folders."""
    if not run.args:
        return run.error("missing operand")
    many = run.has("a", "multiple", "s", "suffix")
    suffix = run.get("s", "suffix") or (run.args[1] if len(run.args) > 1 and not many else "")
    for name in run.args if many else run.args[:1]:
        base = name.rstrip("/").rpartition("/")[2] or ("/" if name else "")
        run.out((base.removesuffix(suffix) if base != suffix else base) + "\n")
    return None


@program("dirname", short="z")
def dirname(run: Run) -> int | None:
    """Write the folders of paths."""
    if not run.args:
        return run.error("missing operand")
    for name in run.args:
        head, slash, _ = name.rstrip("/").rpartition("/")
        run.out((head.rstrip("/") or ("/" if slash or (name and not name.strip("/")) else ".")) + "\n")
    return None


@program("mktemp", short="dt", long=("directory",))
def mktemp(run: Run) -> int:
    """Make a temporary file whose name looks random and is always the same."""
    form = run.args[0] if run.args else "/tmp/tmp.XXXXXXXXXX"  # noqa: S108  (of the simulated disk)
    path = re.sub(
        r"X+$", lambda m: "".join(run.sh.random.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in m[0][:50]), form
    )
    if run.has("d", "directory"):
        run.sh.files.mkdir(run.path(path))
    else:
        run.sh.files.write(run.path(path), b"")
    run.out(path + "\n")
    return 0
