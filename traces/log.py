"""The episode log: an append-only file, one record per line, that stays readable after any crash.

    <crc32 of the body, 8 hex digits> <body: one JSON object>

1. A record is one ``write`` to a file opened with ``O_APPEND``. A killed writer leaves whole lines and at most one torn
   last line.
2. A body carries ``seq`` (0, 1, 2 ...) and ``prev`` (the checksum of the line before): a lost, moved or changed line
   is named.
3. The last record is the ``footer`` with the number of records and a digest of every byte before it: only a file that
   ends so is complete.
4. An empty line is never a record: a page of zeros, as file systems leave it after a power cut, is damage.
5. Whatever may differ between equal runs (clocks, process ids, machine, runtime) stands under the body's key ``host``.

Numbers, strings and nesting that JSON libraries refuse are written all the same (``encode``), since an agent may send
anything. The log does not know what its records mean. Checksums find accidents; whoever can rewrite the file can also
compute them anew.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

Json = dict[str, Any]

VOLATILE = ("host", "prev", "digest")
"""Keys of a body that may differ between equal runs; ``prev`` and ``digest`` do because they cover ``host``."""
MAX_DEPTH = 100
"""Levels of nesting that are kept when a value has to be repaired before it can be written."""
FIRST = "00000000"
"""``prev`` of the first record."""
_DIGITS = 4000  # Python converts at most 4,300 digits of an integer at once


class TraceError(RuntimeError):
    """A trace cannot be used as asked."""


class TraceWriteError(OSError, TraceError):
    """The record could not be written (disk full, I/O error ...); what was written before stays readable."""


@dataclass(frozen=True)
class Scan:
    """The whole records of a log, and what stands behind them."""

    bodies: tuple[Json, ...]
    reason: str | None
    """Why the log is not complete; ``None`` if it is."""
    good_bytes: int
    """Length of the part that can be trusted."""


class EpisodeLog:
    """One open log. Made anew: an existing file is never touched.

    Args:
        path: The file; its folder exists.
        sync_every: Force the file to disk after every so many records; 0 leaves that to ``close``.

    Raises:
        FileExistsError: If there is such a file.
        TraceWriteError: If it cannot be made.
    """

    def __init__(self, path: Path, sync_every: int = 0) -> None:
        self.path, self.count = path, 0
        self._sync_every, self._prev, self._hash = sync_every, FIRST, hashlib.blake2b(digest_size=16)
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise
        except OSError as failed:
            raise write_error(failed, path) from failed

    def append(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Write one record.

        Raises:
            TraceWriteError: If it cannot be written; the log takes no further record.
            TypeError: If the fields hold something that is not JSON data.
        """
        body = encode({"kind": kind, "seq": self.count, "prev": self._prev, **fields})
        checksum = f"{zlib.crc32(body):08x}"
        frame = b"%b %b\n" % (checksum.encode(), body)
        self._write(frame)
        self._hash.update(frame)
        self._prev, self.count = checksum, self.count + 1
        if self._sync_every and self.count % self._sync_every == 0:
            self.sync()

    def finish(self, fields: Mapping[str, Any]) -> None:
        """Write the footer: ``fields``, the count and the digest."""
        self.append("footer", {**fields, "count": self.count, "digest": self._hash.hexdigest()})

    def sync(self) -> None:
        """Wait until everything is on disk. A failure is final: after one, the kernel may have dropped what it held."""
        try:
            os.fdatasync(self._fd)
        except OSError as failed:
            self.close()
            raise write_error(failed, self.path) from failed

    def close(self) -> None:
        """Close the file. May be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, frame: bytes) -> None:
        if self._fd < 0:
            raise TraceWriteError(errno.EBADF, "the log is closed", str(self.path))
        try:
            while frame:  # one round, unless the disk is full or a signal came: the second round then tells
                frame = frame[os.write(self._fd, frame) :]
        except OSError as failed:
            self.close()
            raise write_error(failed, self.path) from failed


def write_error(failed: OSError, path: Path) -> TraceWriteError:
    """Return the typed form of a failed file operation."""
    return TraceWriteError(failed.errno, failed.strerror, str(path))


def encode(value: Any) -> bytes:
    """Return JSON in UTF-8 on one line, shortest exact floats, keys in their own order.

    Infinities and NaN become the words that Python's ``json`` reads. What plain encoders refuse is repaired: lone
    surrogates are escaped, nesting beyond ``MAX_DEPTH`` is replaced by a word.

    Raises:
        TypeError: If there is something in it that is not JSON data (nor a NumPy number or array).
    """
    try:
        return to_json(value, fallback=_plain)
    except (PydanticSerializationError, ValueError, RecursionError):
        return json.dumps(_repaired(value, 0), separators=(",", ":"), default=_plain).encode()


def decode(body: bytes) -> Any:
    """Read what ``encode`` wrote.

    Raises:
        ValueError: If it is not JSON.
    """
    try:
        return from_json(body, cache_strings="keys")
    except ValueError:  # lone surrogates and very long integers
        return json.loads(body, parse_int=_integer)


def scan(data: bytes) -> Scan:
    """Read the records of a log up to the first that cannot be trusted."""
    bodies: list[Json] = []
    previous, start = FIRST, 0
    while start < len(data):
        end = data.find(b"\n", start)
        line = data[start : end if end >= 0 else len(data)]
        body = body_of(line) if end >= 0 else "is torn" if line.strip(b"\0") else "holds only zeros"
        reason = body if isinstance(body, str) else _misfit(body, len(bodies), previous, data, start)
        if reason or isinstance(body, str):
            return Scan(tuple(bodies), f"line {len(bodies) + 1} {reason}", start)
        bodies.append(body)
        previous, start = line[:8].decode(), end + 1
    finished = bool(bodies) and bodies[-1]["kind"] == "footer"
    return Scan(tuple(bodies), None if finished else f"no footer: writing stopped after {len(bodies)} records", start)


def canonical(bodies: tuple[Json, ...]) -> bytes:
    """Return the log's content without what may differ between equal runs, keys sorted, one record per line."""
    kept = ({key: value for key, value in body.items() if key not in VOLATILE} for body in bodies)
    return b"".join(encode(_sorted(body)) + b"\n" for body in kept)


def body_of(line: bytes) -> Json | str:
    """Return a line's body, or what is wrong with the line."""
    if not line.strip(b"\0"):
        return "is empty" if not line else "holds only zeros"
    if line[8:9] != b" " or line[:8] != b"%08x" % zlib.crc32(line[9:]):
        return "does not match its checksum"
    try:
        body = decode(line[9:])
    except (ValueError, RecursionError):
        return "is not JSON"
    return body if isinstance(body, dict) and isinstance(body.get("kind"), str) else "is not a record"  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _misfit(body: Json, expected: int, previous: str, data: bytes, start: int) -> str | None:
    """Return why a record does not follow the one before it."""
    if body.get("seq") != expected:
        return f"is record {body.get('seq')}, expected was {expected}: records are missing or out of order"
    if body.get("prev") != previous:
        return "does not continue the line before it: one of the two was replaced"
    if body["kind"] != "footer":
        return None
    if body.get("count") != expected or body.get("digest") != hashlib.blake2b(data[:start], digest_size=16).hexdigest():
        return "is a footer that does not match the file"
    return None if data.find(b"\n", start) + 1 == len(data) else "is a footer, but more follows"


def _plain(value: Any) -> Any:
    """Turn a NumPy number or array into JSON data."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a trace holds JSON data, not {type(value).__name__}")


def _repaired(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return "<nested too deeply>"
    if isinstance(value, Mapping):
        return {str(key): _repaired(below, depth + 1) for key, below in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return [_repaired(below, depth + 1) for below in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, int) and value.bit_length() > 3 * _DIGITS:
        return f"<integer of {value.bit_length()} bits>"
    return value


def _sorted(value: Any, depth: int = 0) -> Any:
    if depth > 2 * MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _sorted(value[key], depth + 1) for key in sorted(value)}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [_sorted(below, depth + 1) for below in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def _integer(text: str) -> int:
    """Read an integer of any length exactly."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    total = 0
    for at in range(0, len(digits), _DIGITS):
        part = digits[at : at + _DIGITS]
        total = total * 10 ** len(part) + int(part)
    return sign * total
