"""What every session must do, whatever its runtime."""

import math

import pytest

from makerspace.containers.session import SandboxError, SandboxFault, SandboxLost, Target


def test_a_request_is_answered(runtime, opened):
    session = opened(runtime)
    session.renew()
    assert session.request("echo", {"a": [1, 2.5, "ü", None, {"b": True}]}) == {"a": [1, 2.5, "ü", None, {"b": True}]}


def test_the_first_use_renews(runtime, opened):
    assert opened(runtime).request("add") == {"count": 1}


def test_state_lasts_until_renewal(runtime, opened):
    session = opened(runtime)
    assert [session.request("add")["count"] for _ in range(3)] == [1, 2, 3]
    session.renew()
    assert session.request("add") == {"count": 1}


def test_sessions_do_not_share_a_service(runtime, opened):
    one, other = opened(runtime), opened(runtime)
    one.request("add")
    assert other.request("add") == {"count": 1}
    assert one.request("add") == {"count": 2}


def test_arguments_reach_the_constructor(runtime, opened):
    assert opened(runtime, Target("services:Service", {"greeting": "ahoy"})).request("greet") == {"greeting": "ahoy"}


def test_requests_of_several_sessions_may_be_under_way_at_once(runtime, opened):
    sessions = [opened(runtime) for _ in range(3)]
    for number, session in enumerate(sessions):
        session.send("echo", {"number": number})
    assert [session.receive()["number"] for session in sessions] == [0, 1, 2]


def test_nothing_is_shared_with_the_caller(runtime, opened):
    session, value = opened(runtime), [1]
    reply = session.request("keep", {"value": value})
    session.request("spoil")
    assert value == [1]
    assert reply == {"same": [1]}


def test_replies_look_as_json_does(runtime, opened):
    reply = opened(runtime).request("echo", {"pair": (1, 2), "odd": [math.inf, "\ud800"]})
    assert reply == {"pair": [1, 2], "odd": [math.inf, "\ud800"]}


@pytest.mark.parametrize("size", [0, 100_000, 5_000_000])
def test_large_messages_cross(runtime, opened, size):
    session = opened(runtime)
    assert len(session.request("big", {"size": size})["data"]) == size
    assert session.request("echo", {"data": "y" * size})["data"] == "y" * size


def test_an_exception_of_the_service_is_a_fault_with_its_traceback(runtime, opened):
    session = opened(runtime)
    with pytest.raises(SandboxFault, match="ValueError: the kernel said no") as caught:
        session.request("fail", {"message": "the kernel said no"})
    assert "in fail" in caught.value.remote
    assert caught.value.summary == "ValueError: the kernel said no"
    assert session.request("add") == {"count": 1}, "the sandbox lives on"


@pytest.mark.parametrize("operation", ["leave", "answer_object", "no_such_operation"])
def test_whatever_else_the_service_does_wrong_is_a_fault(runtime, opened, operation):
    session = opened(runtime)
    with pytest.raises(SandboxFault):
        session.request(operation)
    assert session.request("add") == {"count": 1}


def test_a_payload_that_is_no_data_is_the_callers_mistake(runtime, opened):
    session = opened(runtime)
    session.request("add")
    with pytest.raises((TypeError, ValueError)) as caught:
        session.send("echo", {"value": object()})
    assert not isinstance(caught.value, SandboxError)
    assert session.request("add") == {"count": 2}, "nothing was sent"


def test_requests_alternate_with_replies(runtime, opened):
    session = opened(runtime)
    with pytest.raises(RuntimeError, match="no request"):
        session.receive()
    session.send("add", {})
    with pytest.raises(RuntimeError, match="not received"):
        session.send("add", {})
    assert session.receive() == {"count": 1}


def test_a_renewal_forgets_the_request_under_way(runtime, opened):
    session = opened(runtime)
    session.send("add", {})
    session.renew()
    assert session.request("add") == {"count": 1}


@pytest.mark.parametrize("factory", ["services:Missing", "no_such_module:Service", "services:Unimportable", "services"])
def test_a_target_that_cannot_be_built_is_a_fault(runtime, opened, factory):
    session = opened(runtime, Target(factory))
    for _ in range(2):
        with pytest.raises(SandboxFault, match=r"Error|has no attribute"):
            session.renew()


def test_closing_is_idempotent_and_final(runtime, opened):
    session = opened(runtime)
    session.request("add")
    session.close()
    session.close()
    for use in (session.renew, lambda: session.request("add")):
        with pytest.raises(SandboxLost, match="closed"):
            use()


def test_a_session_may_be_closed_unused_or_in_the_middle(runtime, opened):
    opened(runtime).close()
    session = opened(runtime)
    session.send("add", {})
    session.close()


def test_a_runtime_can_be_used_again_after_it_was_closed(runtime, opened):
    session = opened(runtime)
    session.request("add")
    runtime.close()
    runtime.close()
    session.renew()
    assert session.request("add") == {"count": 1}


def test_sessions_name_their_runtime_and_tier(runtime, opened):
    session = opened(runtime)
    session.renew()
    known = [("inline", "none"), ("process", "plain"), ("process", "namespaces"), ("docker", "namespaces")]
    assert (session.runtime, session.tier) in known
    assert session.facts["tier"] == session.tier
    assert runtime.tier == session.tier
