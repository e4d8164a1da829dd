"""What an organiser may change in a signed run, and how it is told."""

import msgspec

from core.contracts.errors import ManifestError
from core.contracts.manifest import Manifest
from core.contracts.notices import notice


def of_organiser(manifest: Manifest, organiser: str) -> Manifest:
    """A manifest as its organiser signs it: its id is another one.

    Args:
        manifest: what is signed.
        organiser: the organiser's key, 64 hexadecimal digits.
    """
    return msgspec.structs.replace(manifest, organiser=organiser)


def check_successor(before: Manifest, after: Manifest) -> None:
    """Refuse a signed manifest that cannot take another one's place. Whole contents are compared: a run id is so short
    that somebody could make another run of the same one.

    Args:
        before: what holds.
        after: what shall hold.

    Raises:
        ManifestError: it is of another run or organiser, or no newer.
    """
    if before.organiser is None or after.organiser != before.organiser:
        raise ManifestError(notice("manifest.other_organiser", run=before.run_id, organiser=str(before.organiser)))
    if after.lasting != before.lasting:
        raise ManifestError(notice("manifest.other_run", run=before.run_id, found=after.run_id))
    if after.revision <= before.revision:
        raise ManifestError(notice("manifest.no_newer", revision=after.revision, have=before.revision))


def changes(before: Manifest, after: Manifest) -> list[str]:
    """The fields that are not the same, in `training` and `trunk` each by its name. Peers to join through count only
    if they are new: a PC may know others by its link.

    Args:
        before: what holds.
        after: what shall hold.
    """
    one, other = (msgspec.to_builtins(manifest) for manifest in (before, after))
    found = []
    for name in one:
        if name in ("training", "trunk"):
            inside = one[name].keys() | other[name].keys()
            found += [f"{name}.{key}" for key in sorted(inside) if one[name].get(key) != other[name].get(key)]
        elif name == "bootstrap":
            found += [name] if {*after.bootstrap} - {*before.bootstrap} else []
        elif name != "revision" and one[name] != other[name]:
            found.append(name)
    return found
