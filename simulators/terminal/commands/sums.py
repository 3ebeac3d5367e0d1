"""Programs for bytes: checksums, base64, od, xxd, strings."""

from __future__ import annotations

import base64
import hashlib
import re

from ..text import to_bytes, to_text
from .base import Run, program


@program("md5sum", "sha1sum", "sha256sum", "sha512sum", short="cbt", long=("check", "quiet", "status"))
def digest(run: Run) -> None:
    """Write or check digests."""
    algorithm = run.name.removesuffix("sum")
    for name, text in run.inputs():
        if not run.has("c", "check"):
            run.out(f"{hashlib.new(algorithm, to_bytes(text), usedforsecurity=False).hexdigest()}  {name}\n")
            continue
        for line in text.splitlines():
            want, _, file = line.partition("  ")
            good = hashlib.new(algorithm, to_bytes(run.read(file)), usedforsecurity=False).hexdigest() == want
            run.failed = run.failed or int(not good)
            run.out(f"{file}: {'OK' if good else 'FAILED'}\n")


@program("base64", short="dw:i", long=("decode", "wrap="))
def base64_(run: Run) -> int | None:
    """Encode or decode base64."""
    data = to_bytes(run.read(run.args[0] if run.args else "-"))
    if run.has("d", "decode"):
        try:
            run.out(to_text(base64.b64decode(re.sub(rb"\s", b"", data), validate=True)))
        except ValueError:
            return run.error("invalid input")
        return None
    text = base64.b64encode(data).decode()
    width = run.number("w", "wrap", default=76)
    run.out("".join(text[i : i + width] + "\n" for i in range(0, len(text), width)) if width > 0 else text)
    return None


@program("od", short="A:t:cxvN:b", long=("address-radix=", "format="))
def od(run: Run) -> None:
    """Write bytes as numbers or characters, 16 a line."""
    data = b"".join(to_bytes(text) for _, text in run.inputs())[: run.number("N", default=1 << 30)]
    form = "c" if run.has("c") else run.get("t", "format") or "o2"
    radix = run.get("A", "address-radix") or "o"
    named = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        if form[0] == "c":
            cells = [f"{named.get(b) or (chr(b) if 32 <= b < 127 else f'{b:03o}'):>4}" for b in row]
        elif form in ("x1", "x"):
            cells = [f" {b:02x}" for b in row]
        elif form in ("d1", "u1"):
            cells = [f"{b:4d}" for b in row]
        elif form == "o1" or run.has("b"):
            cells = [f" {b:03o}" for b in row]
        else:
            cells = [f" {int.from_bytes(row[i : i + 2], 'little'):06o}" for i in range(0, len(row), 2)]
        run.out(_address(at, radix) + "".join(cells) + "\n")
    run.out(_address(len(data), radix) + "\n" if radix != "n" else "")


def _address(value: int, radix: str) -> str:
    return {"o": f"{value:07o}", "d": f"{value:07d}", "x": f"{value:06x}"}.get(radix, "")


@program("xxd", short="pl:c:", long=())
def xxd(run: Run) -> None:
    """Write bytes in hexadecimal."""
    data = b"".join(to_bytes(text) for _, text in run.inputs())[: run.number("l", default=1 << 30)]
    if run.has("p"):
        text = data.hex()
        run.out("".join(text[i : i + 60] + "\n" for i in range(0, len(text), 60)))
        return
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        pairs = " ".join(row[i : i + 2].hex() for i in range(0, len(row), 2))
        run.out(f"{at:08x}: {pairs:<39}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in row)}\n")


@program("strings", short="an:", long=("bytes=",))
def strings(run: Run) -> None:
    """Write the printable runs of a file."""
    least = max(min(run.number("n", "bytes", default=4), 1000), 1)
    for _, text in run.inputs():
        for match in re.finditer(rf"[\t -~]{{{least},}}", text):
            run.out(match[0] + "\n")
