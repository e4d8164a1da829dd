"""Links by which runs are joined."""

import re
import shlex

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.contracts import manifest
from core.contracts.errors import HearthError, RunError
from core.contracts.run_link import HEAD, MAX_LINK, MOST_PEERS, RunLink, link_to, parse_link
from core.contracts.succession import of_organiser
from core.worker.joined_runs import with_peers
from tests.tampering import tampered

KEY, OTHER = "ab" * 32, "cd" * 32
RUN = of_organiser(manifest.load("digits"), KEY)
PEER = f"{KEY}@203.0.113.7:4401,[2001:db8::7]:4401"
LINK = link_to(RUN, [PEER, f"{OTHER}@198.51.100.2:4401"])


def test_a_link_says_which_run_whose_it_is_and_through_whom() -> None:
    assert LINK.startswith(f"{HEAD}{RUN.run_id}/{KEY}/{KEY}@203.0.113.7:4401,%5B2001:db8::7%5D:4401/{OTHER}@")
    link = parse_link(LINK)
    assert link == RunLink(RUN.run_id, KEY, (PEER, f"{OTHER}@198.51.100.2:4401")) and str(link) == LINK


def test_a_link_is_one_word_for_a_shell_and_fits_into_a_code_however_many_peers_there_are() -> None:
    addresses = ",".join(f"[2001:db8:1111:2222:3333:4444:5555:{n:04x}]:44010" for n in range(8))
    crowd = link_to(RUN, [f"{n:064x}@{addresses}" for n in range(20)])
    assert len(crowd) <= MAX_LINK and 1 <= len(parse_link(crowd).peers) <= MOST_PEERS
    for link in (LINK, crowd):
        assert shlex.quote(link) == link and not re.search(r"[&?#\[\]*$;]", link)


def test_there_is_no_link_to_what_nobody_signed_or_through_nobody() -> None:
    with pytest.raises(RunError, match="Nobody has signed"):
        link_to(manifest.load("digits"), [PEER])
    with pytest.raises(RunError, match="Nobody could join"):
        link_to(RUN, [KEY])  # a PC that cannot be dialled


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("hearth://leave/me", "must begin with hearth://join/"),
        (LINK.replace("hearth:", "http:"), "must begin with"),
        (LINK + "?token=x", "must begin with .* and hold only letters"),
        (LINK.replace(RUN.run_id, "../../etc"), "the id of a run"),
        (LINK.replace(RUN.run_id, "%2e%2e%2fetc"), "the id of a run"),
        (LINK.replace(f"/{KEY}/", f"/{KEY[1:]}/"), "organiser's key, 64"),
        (HEAD + RUN.run_id, "organiser's key, 64"),
        (HEAD + f"{RUN.run_id}/{KEY}", "1 to 4 peers"),
        (LINK[:-5], "1 to 4 peers"),
        (LINK + f"/{PEER}".replace("[", "").replace("]", ""), "1 to 4 peers"),
        (LINK + "/a" * 2000, "longer than 2,048"),
    ],
)
def test_what_is_no_link_is_refused_with_its_reason(link: str, why: str) -> None:
    with pytest.raises(RunError, match=f"This link leads to no run: .*{why}"):
        parse_link(link)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.text(max_size=80).map(lambda text: HEAD + text), st.text(max_size=40), st.binary(max_size=60).map(repr)
    )
)
def test_no_text_does_anything_but_lead_to_a_run_or_be_refused(text: str) -> None:
    try:
        link = parse_link(text)
    except HearthError:
        return
    assert parse_link(str(link)) == link


@settings(max_examples=300, deadline=None)
@given(tampered([LINK.encode()]))
def test_a_link_that_was_changed_is_another_one_or_none(changed: bytes) -> None:
    try:
        link = parse_link(changed.decode("utf8", "replace"))
    except RunError:
        return
    assert parse_link(str(link)) == link


def test_the_peers_of_a_link_are_tried_before_those_that_the_manifest_names() -> None:
    named = tuple(f"{n:064x}@192.0.2.1:{4000 + n}" for n in range(16))
    run = msgspec.structs.replace(RUN, bootstrap=named)
    met = with_peers(run, (PEER, f"{3:064x}@192.0.2.9:9"))
    assert met.bootstrap[0] == PEER and f"{3:064x}@192.0.2.9:9" in met.bootstrap and named[3] not in met.bootstrap
    assert len(met.bootstrap) == 16 and met.run_id == run.run_id
    assert with_peers(run, ()) == run
