import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.contracts.errors import DataFolderError, IdentityError
from core.contracts.notices import notice
from core.contracts.peer_names import called, two_words
from core.identity import WORD_COUNT, Identity, parse_peer, peer_text, verify
from core.key_file import FILE

SEED = bytes(range(32))
PEER = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
"""The public key of SEED, computed with another library."""


def test_the_public_key_is_the_standard_one() -> None:
    assert Identity(SEED).peer.hex() == PEER


def test_a_signature_is_the_standard_one_and_checked() -> None:
    identity = Identity(SEED)
    # RFC 8032, 7.1, test 2
    known = Identity(bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
    assert known.sign(b"\x72").hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    signature = identity.sign(b"record")
    assert verify(identity.peer, b"record", signature)
    assert not verify(identity.peer, b"Record", signature)
    assert not verify(known.peer, b"record", signature)


@given(st.binary(max_size=70), st.binary(max_size=40), st.binary(max_size=70))
def test_verify_never_raises(peer: bytes, message: bytes, signature: bytes) -> None:
    assert not verify(peer, message, signature)  # type: ignore[arg-type]


def test_the_first_start_makes_a_key_and_later_ones_keep_it(tmp_path: Path) -> None:
    first = Identity.load_or_create(tmp_path)
    assert Identity.load_or_create(tmp_path).seed == first.seed
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_starts_at_the_same_time_agree_on_one_key(tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(Identity.load_or_create(tmp_path).seed)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize("content", [b"", b"abc", b"zz" * 32, SEED.hex().encode()[:-2], b"\xff" * 500])
def test_a_damaged_key_is_an_error_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(IdentityError, match=r"identity\.key cannot be used.*left as it is.*hearth identity import"):
        Identity.load_or_create(tmp_path)
    assert (tmp_path / FILE).read_bytes() == content


def test_a_key_that_is_not_there_yet_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(IdentityError, match=r"There is no key in .* yet\. The first start") as told:
        Identity.load(tmp_path)
    assert "left as it is" not in str(told.value) and not list(tmp_path.iterdir())


def test_a_key_that_is_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(IdentityError, match="cannot be used"):
        Identity.load_or_create(tmp_path)


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="cannot be written"):
        Identity.load_or_create(tmp_path / "gone")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no mode bits")
def test_a_key_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    Identity(SEED).replace_in(tmp_path)
    (tmp_path / FILE).chmod(0o644)
    assert Identity.load(tmp_path).seed == SEED
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_the_recovery_words_bring_the_identity_back(tmp_path: Path) -> None:
    old = Identity.load_or_create(tmp_path / ".")
    words = Identity(SEED).words()
    assert len(words.split()) == WORD_COUNT
    restored = Identity.from_words(f"  {words.upper()}\n")
    kept = restored.replace_in(tmp_path)
    assert Identity.load(tmp_path).peer.hex() == PEER
    assert kept is not None
    assert kept.read_text().strip() == old.seed.hex()
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert restored.replace_in(tmp_path) is None  # the same again changes nothing
    assert len(list(tmp_path.iterdir())) == 2


@given(st.binary(min_size=32, max_size=32))
def test_every_key_has_words(seed: bytes) -> None:
    assert Identity.from_words(Identity(seed).words()).seed == seed


@given(st.integers(0, WORD_COUNT - 1), st.integers(0, 3), st.sampled_from("abdfghijklmnoprstuvz"))
def test_a_misspelt_word_is_noticed(place: int, letter: int, other: str) -> None:
    words = Identity(SEED).words().split()
    changed = words[place][:letter] + other + words[place][letter + 1 :]
    if changed != words[place]:
        with pytest.raises(IdentityError, match=r"(do not fit together|is not a recovery word)"):
            Identity.from_words(" ".join([*words[:place], changed, *words[place + 1 :]]))


def test_swapped_and_missing_words_are_noticed() -> None:
    first, second, *rest = Identity(SEED).words().split()
    with pytest.raises(IdentityError, match="out of place"):
        Identity.from_words(" ".join([second, first, *rest]))
    with pytest.raises(IdentityError, match="24 recovery words, not 22"):
        Identity.from_words(" ".join(rest))


@given(st.text(max_size=300))
def test_no_text_breaks_the_parsers(text: str) -> None:
    for parse in (Identity.from_words, parse_peer):
        with pytest.raises(IdentityError):
            parse(text)


def test_a_peer_has_a_text_form() -> None:
    peer = parse_peer(PEER)
    assert peer_text(peer) == PEER
    with pytest.raises(IdentityError, match="64 hexadecimal digits"):
        parse_peer(PEER[:-1])


def test_a_peer_is_called_by_two_words_of_its_key_or_as_it_wishes_and_its_digits_stay() -> None:
    assert two_words(PEER) == two_words(PEER) != two_words(PEER.replace("b8", "b9"))
    first, second = two_words(PEER).split()
    assert first.isalpha() and first.istitle() and len(first) == len(second) == 4
    assert called(PEER) == f"{first} {second} (03a107bf)"
    assert called(PEER, "Ada") == "Ada (03a107bf)"


def test_keys_alike_have_names_unlike() -> None:
    names = {two_words(f"{number:064x}") for number in range(2000)}
    assert len(names) == 2000
    assert len({name[0] for name in names}) > 10


def test_a_sentence_calls_a_peer_by_its_name() -> None:
    assert str(notice("peer.banned", peer=PEER)) == f"Peer {called(PEER)} is banned."
