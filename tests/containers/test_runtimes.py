"""Runtimes by name."""

import pytest

from makerspace.containers.runtimes import RUNTIMES, open_runtime


def test_the_same_name_and_options_give_the_same_runtime():
    assert open_runtime("inline") is open_runtime("inline")
    assert open_runtime("process", reuse=2, spares=3) is open_runtime("process", spares=3, reuse=2)
    assert open_runtime("process", reuse=2) is not open_runtime("process", reuse=3)


@pytest.mark.parametrize("name", ["podman", "cloud", ""])
def test_an_absent_runtime_is_named_with_those_that_there_are(name):
    with pytest.raises(KeyError, match=", ".join(RUNTIMES)):
        open_runtime(name)


@pytest.mark.parametrize("options", [{"reuse": 0}, {"spares": -1}, {"tier": "strong"}])
def test_impossible_options_are_refused(options):
    with pytest.raises(ValueError, match="no such process runtime"):
        open_runtime("process", **options)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError):
        open_runtime("inline", speed=9)
