"""Environments by their long and short names."""

from __future__ import annotations

import pytest

from makerspace.cli.common import Mistake, missing_extra, resolve
from makerspace.envs.tasks import family_names

if not family_names():
    pytest.skip("there are no task families", allow_module_level=True)


@pytest.mark.parametrize("family", family_names())
def test_every_form_of_a_name(family: str) -> None:
    tail = family.partition(".")[2]
    forms = [family, f"makerspace/{family}-v0", f"{family}-v0", f"makerspace/{family}"]
    if sum(other.partition(".")[2] == tail for other in family_names()) == 1:
        forms.append(tail)
    assert {resolve(form) for form in forms} == {family}


@pytest.mark.parametrize("family", family_names())
def test_a_slip_of_the_pen_is_understood(family: str) -> None:
    with pytest.raises(Mistake, match=rf"did you mean .*{family}"):
        resolve(family[:-1])


def test_an_unknown_name_says_where_to_look() -> None:
    with pytest.raises(Mistake, match="makerspace list"):
        resolve("§§§§§§")


def test_a_missing_module_names_its_extra() -> None:
    assert missing_extra("cadquery") == "cad"
    assert missing_extra("torch.nn") == "train"
    assert missing_extra("nowhere") is None
    assert missing_extra(None) is None
