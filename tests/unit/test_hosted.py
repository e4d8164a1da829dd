"""Which experts are hosted here, from what compute reports and what is decided."""

import pytest

from core.contracts.errors import ComputeError
from core.contracts.status import ExpertStatus
from core.experts.grid import Grid, Uid
from core.swarm.hosted import HostedExperts

GRID = Grid("digits", 1, (2, 2))
A, B, C, D = GRID.uids()


def hosted(*uids: Uid) -> HostedExperts:
    made = HostedExperts(GRID)
    made.report([ExpertStatus(str(uid), 3, 0) for uid in uids])
    return made


def test_a_process_alone_begins_with_all_but_the_parked_and_one_among_peers_with_none() -> None:
    experts = hosted()
    assert experts.first(alone=True) is None and experts.first(alone=False) == []
    experts.park([B, C])
    experts.unpark([C])
    assert experts.first(alone=True) == [str(A), str(C), str(D)]


def test_what_is_given_up_can_be_called_no_more_and_is_leaving_until_it_is_saved() -> None:
    experts = hosted(A, B)
    experts.claim([A, B])
    with experts.leaving([A, B]) as stay:
        assert not experts.claimed and experts.is_leaving(A)
        experts.report([])  # compute serves them no more, and saves them
        assert experts.loaded() == {A, B} and experts.is_leaving(A)
        stay.add(B)
    assert experts.claimed == {B} and not experts.is_leaving(A)


def test_what_was_saved_is_gone_before_compute_reports_again() -> None:
    experts = hosted(A, B)
    with experts.leaving([A]):
        pass
    assert experts.versions() == {B: 3}


def test_claims_do_not_outlive_a_process_that_ends_while_it_saves() -> None:
    experts = hosted(A)
    experts.claim([A])
    with pytest.raises(ComputeError), experts.leaving([A]):
        raise ComputeError("Compute has ended.")
    assert not experts.claimed


def test_claims_age_until_they_are_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    experts = hosted(A)
    experts.claim([A])
    now = 200.0
    experts.claim([A, B])
    assert experts.young(50.0) == {B}
    experts.renew()
    assert experts.young(50.0) == {A, B}
