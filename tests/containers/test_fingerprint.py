"""A sandbox that is not as clean as the first one is never used."""

import pytest
from services import PLANTS

from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import Target


@pytest.fixture(scope="module", params=["namespaces", "docker"])
def strict_runtime(request, kernel_allows_namespaces):
    if request.param == "docker":
        runtime = request.getfixturevalue("containers")
    elif kernel_allows_namespaces:
        runtime = ProcessRuntime(tier="namespaces")
    else:
        pytest.skip("the kernel lets this user build no namespaces")
    yield runtime
    runtime.close()


@pytest.mark.parametrize("plant", PLANTS)
def test_a_dirty_sandbox_is_caught_and_its_parent_replaced(strict_runtime, opened, plant):
    refused = len(strict_runtime.refused)
    session = opened(strict_runtime, Target("services:Planted", {"plant": plant, "after": 3}))
    for _ in range(6):
        session.renew()
        assert session.request("add") == {"count": 1}
    assert [said for said in strict_runtime.refused[refused:] if "is not clean" in said]


def test_clean_sandboxes_are_never_refused(strict_runtime, opened):
    refused = len(strict_runtime.refused)
    session = opened(strict_runtime, Target("services:Rogue"))
    for _ in range(10):
        session.renew()
        session.request("dirty")
    assert strict_runtime.refused[refused:] == []
