"""What the peers of a run tell and ask each other about the experts that they host, and about the states of these.

Methods are called by `core.contracts.net.of_run(name, run_id)`; records are values in the DHT.
"""

from typing import Annotated

import msgspec

from core.contracts.files import Natural, PartFile, PartName, Sha256, SignedFile, Size

CHUNK = 128 << 10
"""Bytes of a file in one answer, at most: while calls go first, so much comes before a frame is given up. For so much
there is room before it is read (`core.net.service`)."""
MAX_NAMED = 256
"""Experts in one question."""
MOVES = 4
"""Experts asked of one host at once when loads are evened out: the others stay where trainers know them."""

Uids = Annotated[tuple[PartName, ...], msgspec.Meta(max_length=MAX_NAMED)]
Experts = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class Member(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A peer of the run, as it describes itself."""

    capacity: Experts
    """It can host so many; 0: it only keeps copies."""
    hosted: Experts


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """`host.hello`: are you there, and which versions of these experts do you host?"""

    uids: Uids = ()


class HelloReply(msgspec.Struct, frozen=True, array_like=True):
    versions: Annotated[tuple[Annotated[int, msgspec.Meta(ge=-1, lt=2**53)], ...], msgspec.Meta(max_length=MAX_NAMED)]
    """Of each; -1: not hosted."""


class Handover(msgspec.Struct, frozen=True, array_like=True):
    """`host.handover`: I have room, give me so many of your experts."""

    count: Annotated[int, msgspec.Meta(ge=1, le=MOVES)]


class Given(msgspec.Struct, frozen=True, array_like=True):
    """An expert that its host has let go."""

    uid: PartName
    state: PartFile | None = None
    """The newest; None: it was never trained."""


class HandoverReply(msgspec.Struct, frozen=True, array_like=True):
    given: Annotated[tuple[Given, ...], msgspec.Meta(max_length=MOVES)]


class AskNewest(msgspec.Struct, frozen=True, array_like=True):
    """`host.newest`: which states of these experts, which you left, are your newest?"""

    uids: Uids


class Newest(msgspec.Struct, frozen=True, array_like=True):
    state: PartFile | None = None
    """None: it was never trained."""
    coming: bool = False
    """A newer one is about to be saved, or the expert hosted again."""


class NewestReply(msgspec.Struct, frozen=True, array_like=True):
    states: Annotated[tuple[Newest, ...], msgspec.Meta(max_length=MAX_NAMED)]


class KeepFile(msgspec.Struct, frozen=True, array_like=True):
    """`file.keep`: keep a copy of this file, which is here, signed by its trainer. Answered when it is done."""

    file: SignedFile


class FileKept(msgspec.Struct, frozen=True, array_like=True):
    kept: bool
    """This state of the part or a newer one."""
    why: Annotated[str, msgspec.Meta(max_length=200)] = ""


class ReadFile(msgspec.Struct, frozen=True, array_like=True):
    """`file.read`: bytes of a file; the payload of the answer holds them."""

    sha256: Sha256
    offset: Natural
    length: Annotated[int, msgspec.Meta(ge=1, le=CHUNK)]


class FileRead(msgspec.Struct, frozen=True, array_like=True):
    size: Size
    """Of the whole file."""


class AskManifest(msgspec.Struct, frozen=True, array_like=True):
    """`run.manifest`: have you a newer signed manifest of the run than that of this revision?"""

    above: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    """0: none is here."""


class ManifestFollows(msgspec.Struct, frozen=True, array_like=True):
    """The payload is the signed document; nothing: there is no newer one."""
