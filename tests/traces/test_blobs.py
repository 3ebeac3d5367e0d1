"""Blobs: stored once, whole or not at all, checked when read."""

import hashlib
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from makerspace.traces.blobs import BlobError, BlobStore


@pytest.fixture
def store(tmp_path):
    return BlobStore(tmp_path / "blobs")


def files(store):
    return sorted(path for path in store.root.rglob("*") if path.is_file())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=3000) | st.binary(max_size=20).map(lambda part: part * 100))
def test_bytes_come_back_under_their_digest(store, data):
    digest = store.put(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert BlobStore(store.root).get(digest) == data


def test_the_same_bytes_are_stored_once(store):
    for writer in (store, store, BlobStore(store.root)):
        writer.put(b"part " * 1000)
    store.sync()
    assert len(files(store)) == 1


def test_only_what_shrinks_is_compressed(store):
    noise = b"".join(hashlib.sha256(bytes([n])).digest() for n in range(200))
    store.put(noise)
    store.put(b"solid part\n" * 1000)
    sizes = {path.suffix: path.stat().st_size for path in files(store)}
    assert sizes[""] == len(noise)
    assert sizes[".z"] < 500


@pytest.mark.parametrize("data", [b"short", b"part " * 1000])
@pytest.mark.parametrize("damage", [b"", b"x", zlib.compress(b"another blob")])
def test_a_damaged_blob_is_found_and_can_be_put_again(store, data, damage):
    digest = store.put(data)
    files(store)[0].write_bytes(damage)
    with pytest.raises(BlobError):
        store.get(digest)
    again = BlobStore(store.root)
    again.put(data)
    assert again.get(digest) == data


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n"])
def test_only_digests_are_names(store, name):
    with pytest.raises(BlobError, match="not the digest"):
        store.get(name)


def test_a_missing_blob_is_named(store):
    with pytest.raises(BlobError, match="ffff is missing"):
        store.get("f" * 64)


def test_what_a_killed_writer_left_is_no_blob(store):
    digest = hashlib.sha256(b"abc").hexdigest()
    (store.root / digest[:2]).mkdir(parents=True)
    (store.root / digest[:2] / f".{digest}.1.0").write_bytes(b"a")
    with pytest.raises(BlobError, match="missing"):
        store.get(digest)
    assert store.get(store.put(b"abc")) == b"abc"
