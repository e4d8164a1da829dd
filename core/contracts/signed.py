"""A manifest that its organiser signed: its canonical form, and around it the signature.

    {"signed": 1, "manifest": {...}, "signature": "..."}

The signature is one of exactly the bytes between the colon and the comma, after a prefix by which a key of Ed25519
that signs other things as well signs no manifest with them. They name the key, as `organiser`. What a newer Hearth has
added to them is signed and passed on with the rest.
"""

from typing import Annotated, Any, Literal

import msgspec

from core.contracts.errors import UNREADABLE, ManifestError
from core.contracts.notices import notice
from core.contracts.trunk import PeerText

CONTEXT = b"hearth manifest 1\0"


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The document."""

    signed: Literal[1]
    manifest: msgspec.Raw
    signature: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]


class _Named(msgspec.Struct, frozen=True):
    organiser: PeerText


def is_signed(fields: dict[str, Any]) -> bool:
    """Whether a document says of itself that it is signed."""
    return "signed" in fields


def opened(document: bytes) -> tuple[str, bytes]:
    """The organiser's key and the manifest in a signed document, as it was signed.

    Args:
        document: the whole of it, within the limit of manifests.

    Raises:
        ManifestError: it is none, or its signature is not that of the key that it names.
    """
    try:
        envelope = msgspec.json.decode(document, type=Envelope)
        content = bytes(envelope.manifest)
        organiser = msgspec.json.decode(content, type=_Named).organiser
    except UNREADABLE as error:
        raise ManifestError(notice("manifest.not_signed", why=str(error))) from error
    if not _verify(bytes.fromhex(organiser), CONTEXT + content, bytes.fromhex(envelope.signature)):
        raise ManifestError(notice("manifest.forged", organiser=organiser[:8]))
    return organiser, content


def enveloped(content: bytes, signature: bytes) -> bytes:
    """The document of a manifest and its signature over `CONTEXT` and the manifest's bytes."""
    return msgspec.json.encode(Envelope(1, msgspec.Raw(content), signature.hex()))


def _verify(key: bytes, message: bytes, signature: bytes) -> bool:
    """As `core.identity.verify`, which the app must not load."""
    from cryptography.exceptions import InvalidSignature  # 7 MB, of which unsigned runs have no use
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
