"""``makerspace sandbox`` and ``makerspace doctor``."""

import json

import pytest

from makerspace.containers import engine
from makerspace.containers.images import worlds
from makerspace.containers.session import RuntimeUnavailable


@pytest.fixture
def no_docker(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setattr(engine, "_engines", {})


@pytest.fixture
def docker():
    pytest.importorskip("docker", reason="the Docker SDK is not installed")
    try:
        return engine.engine()
    except RuntimeUnavailable as absent:
        pytest.skip(str(absent))


def findings(answer):
    return {one["what"]: one for one in json.loads(answer.out)}


def test_the_doctor_knows_a_machine_without_docker(makerspace, no_docker):
    answer = makerspace("doctor", "--json")
    assert answer.code == 0
    found = findings(answer)
    assert found["runtime process"]["ok"]
    assert not found["runtime docker"]["ok"]
    assert "no Docker daemon answers" in found["runtime docker"]["says"]


def test_the_doctor_speaks_plainly(makerspace, no_docker):
    out = makerspace("doctor").out
    assert "runtime inline" in out
    assert "protects from nothing" in out


def test_the_doctor_finds_docker_and_its_images(makerspace, docker):
    found = findings(makerspace("doctor", "--json"))
    assert found["runtime docker"]["ok"]
    assert {f"image {world}" for world in worlds()} <= found.keys()


def test_without_docker_a_command_says_what_to_do(makerspace, no_docker):
    answer = makerspace("sandbox", "ls")
    assert answer.code == 2
    assert "no Docker daemon answers" in answer.err


def test_an_unknown_image_is_refused_with_those_that_there_are(makerspace):
    answer = makerspace("sandbox", "build", "kitchen")
    assert answer.code == 2
    assert "terminal" in answer.err


def test_what_a_dead_owner_left_is_listed_and_removed(makerspace, docker):
    image = docker.api.images(quiet=True)
    if not image:
        pytest.skip("the daemon has no image")
    labels = {**engine.ownership("0" * 12, "test"), "makerspace.pid": "1", "makerspace.born": "-1"}
    made = docker.api.create_container(image[0], ["true"], labels=labels)["Id"]
    listed = json.loads(makerspace("sandbox", "ls", "--json").out)
    assert next(one for one in listed if made.startswith(one["id"]))["orphan"]
    assert "removed" in makerspace("sandbox", "clean").out
    assert made not in [found.id for found in docker.find()]
