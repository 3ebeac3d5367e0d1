from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from makerspace.simulators.cad.document import (
    KIND_NAMES,
    Feature,
    features_of,
    group_of,
    key_of,
    new_name,
    plain,
)

values = st.one_of(st.none(), st.integers(-9, 9), st.floats(-1e4, 1e4), st.text(max_size=5))
features = st.builds(
    Feature,
    st.text(max_size=8),
    st.sampled_from(sorted(KIND_NAMES)),
    st.dictionaries(st.text(max_size=4), values, max_size=4).map(lambda d: tuple(d.items())),
)
documents = st.lists(features, max_size=6).map(tuple)


def make(*kinds: str) -> tuple[Feature, ...]:
    found: tuple[Feature, ...] = ()
    for kind in kinds:
        found = (*found, Feature(new_name(found, kind), kind, ()))
    return found


@settings(deadline=None)
@given(documents)
def test_a_document_survives_json(document: tuple[Feature, ...]) -> None:
    again = features_of(json.loads(json.dumps(plain(document))))
    assert again == document
    assert key_of(again) == key_of(document)


@settings(deadline=None)
@given(documents, documents)
def test_keys_differ_where_documents_differ(a: tuple[Feature, ...], b: tuple[Feature, ...]) -> None:
    assert (key_of(a) == key_of(b)) == (json.dumps(plain(a)) == json.dumps(plain(b)))


def test_names_count_up_and_are_not_given_twice() -> None:
    document = make("hole", "hole", "fillet")
    assert [f.name for f in document] == ["Hole1", "Hole2", "Fillet1"]
    assert new_name(document[1:], "hole") == "Hole3"


def test_a_sketch_goes_with_its_figures_and_its_extrusion() -> None:
    document = make("new_sketch", "rectangle", "extrude", "hole", "new_sketch", "circle", "circle", "extrude", "fillet")
    assert group_of(document, "Extrude1") == range(3)
    assert group_of(document, "Sketch2") == range(4, 8)
    assert group_of(document, "Circle2") == range(6, 7)
    assert group_of(document, "Hole1") == range(3, 4)


def test_an_open_sketch_goes_alone() -> None:
    document = make("new_sketch", "rectangle", "extrude", "new_sketch", "circle")
    assert group_of(document, "Sketch2") == range(3, 5)
