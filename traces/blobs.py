"""Blobs: bytes stored once under the digest of their content.

    blobs/ab/<sha256>      or, where zlib makes it smaller, blobs/ab/<sha256>.z

A blob is written to a temporary file and renamed, so that a name always stands for a whole file; it is never changed;
it is checked whenever it is read. The store does not know who refers to its blobs.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import zlib
from pathlib import Path

from .log import TraceError, write_error

SAMPLE = 4096
"""Bytes from whose compression it is judged whether a blob is worth compressing."""
WORTHWHILE = 0.9
"""Largest ratio of compressed to plain size that pays for the work."""
MAX_BYTES = 1 << 30
"""Largest blob that is read."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_numbers = itertools.count()


class BlobError(TraceError):
    """A blob is missing or damaged."""


class BlobStore:
    """A folder of blobs; any number of processes may use it at once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: set[str] = set()
        self._unsynced: list[Path] = []

    def put(self, data: bytes) -> str:
        """Store the bytes unless they are there, and return their digest.

        Raises:
            TraceWriteError: If they cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._known:
            if not self._holds(digest):
                self._write(digest, data)
            self._known.add(digest)
        return digest

    def get(self, digest: str) -> bytes:
        """Return a blob's bytes.

        Raises:
            BlobError: If there is no such blob, or its content does not match its name.
        """
        if not _DIGEST.fullmatch(digest):
            raise BlobError(f"{digest[:80]!r} is not the digest of a blob")
        try:
            data = self._read(digest)
        except FileNotFoundError:
            raise BlobError(f"blob {digest} is missing") from None
        except (OSError, zlib.error) as failed:
            raise BlobError(f"blob {digest} cannot be read: {failed}") from failed
        if hashlib.sha256(data).hexdigest() != digest:
            raise BlobError(f"blob {digest} is damaged")
        return data

    def sync(self) -> None:
        """Wait until every blob put since the last call is on disk."""
        pending, self._unsynced = self._unsynced, []
        for path in pending:
            try:
                fd = os.open(path, os.O_RDONLY)
                try:
                    os.fdatasync(fd)
                finally:
                    os.close(fd)
            except OSError as failed:
                raise write_error(failed, path) from failed

    def _paths(self, digest: str) -> tuple[Path, Path]:
        plain = self.root / digest[:2] / digest
        return plain, plain.with_name(digest + ".z")

    def _read(self, digest: str) -> bytes:
        plain, packed = self._paths(digest)
        try:
            compressed = packed.read_bytes()
        except FileNotFoundError:
            return plain.read_bytes()
        return zlib.decompressobj().decompress(compressed, MAX_BYTES)

    def _holds(self, digest: str) -> bool:
        """Look whether the blob is there and whole; a damaged one is written anew."""
        plain, packed = self._paths(digest)
        if not (packed.exists() or plain.exists()):
            return False
        try:
            self.get(digest)
        except BlobError:
            packed.unlink(missing_ok=True)
            return False
        return True

    def _write(self, digest: str, data: bytes) -> None:
        plain, packed = self._paths(digest)
        content = zlib.compress(data, 1) if _compressible(data) else data
        target = packed if content is not data else plain
        draft = target.with_name(f".{digest}.{os.getpid()}.{next(_numbers)}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
            draft.replace(target)
        except OSError as failed:
            draft.unlink(missing_ok=True)
            raise write_error(failed, target) from failed
        self._unsynced.append(target)


def _compressible(data: bytes) -> bool:
    sample = data[:SAMPLE]
    return len(data) > 128 and len(zlib.compress(sample, 1)) < WORTHWHILE * len(sample)
