"""`hearth pack`: a torch for this PC's GPU, fetched once, tried, and from then on used by compute. Any PC can keep its
files for peers."""

import argparse
import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import msgspec

from core.commands import common
from core.commands.progress import Progress
from core.contracts.build import PACK, hearth_command
from core.contracts.control import FetchWheelParams
from core.contracts.errors import HearthError, NotRunning, UpdateError
from core.contracts.notices import FAULTS_AS_NOTICES, Notice, fault_of, notice
from core.contracts.words import size
from core.control.client import ControlClient
from core.policy.signals.nvml import Nvml
from core.policy.signals.reading import Gpu, SourceError
from core.store.data_folder import data_folder
from core.store.sizes import RUNTIMES
from core.store.writing import PARTIAL
from core.update import packs
from core.update.feed import look_for_pack
from core.update.installation import DOWNLOADS, TRUSTED, read_id
from core.update.packs import WHEELS, Wheel
from core.update.unpacking import FromPeers, assemble, keep

KIND = "cuda"
"""Of card: that of NVIDIA. On Macs, Hearth's own torch computes on the graphics processor."""
LOCK = "lock"
"""In the folder of all packs: held by who changes something there."""
TRY_S = 180.0
"""A pack is read from the disk for the first time: some gigabytes."""
PEERS_S = 60.0
"""Without a word of what comes from peers."""
RENEW_S = 90.0
"""Compute saves, and ends."""


class Answer(msgspec.Struct, frozen=True):
    """What `check --json` says."""

    cards: tuple[str, ...]
    """Names of those that a pack is for."""
    version: str
    """Torch's, of the newest pack."""
    size: int
    """Bytes to be fetched."""
    unpacked: int
    """Bytes that it takes."""
    installed: bool
    failed: bool
    """Compute did not come up with it."""


def pack(options: argparse.Namespace) -> None:
    """Tell, install, keep for others, or remove.

    Raises:
        UpdateError: there is nothing to be had, or it does not work here; compute goes by what it went by.
    """
    verbs = {"check": _check, "install": _install, "keep": _keep, "remove": _remove}
    verbs[options.what](options, data_folder(options.data_dir))


def _check(options: argparse.Namespace, folder: Path) -> None:
    names = tuple(card.name for card in _cards())
    with _held(folder) as runtimes:
        offer = look_for_pack(KIND, runtimes / TRUSTED)
    amount, unpacked = (sum(getattr(wheel, of) for wheel in offer.pack.wheels) for of in ("size", "unpacked"))
    is_here = read_id(runtimes / packs.CHOSEN) == offer.id
    answer = Answer(names, offer.pack.version, amount, unpacked, is_here, is_here and packs.has_failed(folder))
    if options.json:
        print(common.in_one_line(answer))
        return
    print(f"{', '.join(names)}: a pack with torch {answer.version} is there.")
    if answer.failed:
        print("Compute did not come up with it, so the CPU computes. Try it again: hearth pack install")
    elif answer.installed:
        print("It is installed, and compute uses it. Remove it: hearth pack remove")
    else:
        print(f"{size(amount)} to fetch, {size(unpacked)} on the disk. Install it: hearth pack install")


def _install(options: argparse.Namespace, folder: Path) -> None:
    """Fetch it, try it, switch compute to it; the pack so far is kept until then."""
    cards = _cards()
    with _held(folder) as runtimes:
        offer = look_for_pack(KIND, runtimes / TRUSTED)
        new, now = runtimes / offer.id, packs.chosen(folder)
        if now != new:
            _remove_others(runtimes, new.name, new.name + PARTIAL, DOWNLOADS, *([now.name] if now else []))
            assemble(runtimes, offer, Progress(options.progress), _from_peers(folder))
            if failure := _failure(new, cards):
                shutil.rmtree(new, ignore_errors=True)
                raise UpdateError(notice("pack.failed", why=failure))
            packs.choose(new)
        elif not _others(runtimes, new.name):  # else the switch to it was killed
            print("The newest pack is installed already.")
            return
        _renew_compute(folder)
        _remove_others(runtimes, new.name)
    print(f"Compute uses torch {offer.pack.version} for {', '.join(card.name for card in cards)} from now on.")


def _keep(options: argparse.Namespace, folder: Path) -> None:
    """Have the files of the newest pack here, and give them to peers from now on."""
    with _held(folder) as runtimes:
        offer = look_for_pack(KIND, runtimes / TRUSTED)
        taken = keep(runtimes, offer, Progress(options.progress), _from_peers(folder))
    print(f"Peers of your runs can fetch torch {offer.pack.version} from here: {size(taken)} on the disk.")
    print("Remove it, with the pack that is installed: hearth pack remove")


def _from_peers(folder: Path) -> FromPeers:
    """Asks the worker's peers, if one runs: it alone has a network."""

    def ask(wheel: Wheel, told: Callable[[int], None]) -> None:
        with contextlib.suppress(HearthError), ControlClient(folder) as client:
            wanted = FetchWheelParams(wheel.sha256, wheel.size)
            client.call("fetch_wheel", wanted, dict, PEERS_S, each=told)

    return ask


def _others(runtimes: Path, *kept: str) -> list[Path]:
    """All packs and parts of them but those that are kept."""
    return [path for path in runtimes.iterdir() if path.is_dir() and path.name not in (TRUSTED, WHEELS, *kept)]


def _remove_others(runtimes: Path, *kept: str) -> None:
    for path in _others(runtimes, *kept):
        shutil.rmtree(path, ignore_errors=True)


def _remove(options: argparse.Namespace, folder: Path) -> None:
    """Have compute go by Hearth's own torch, and remove all packs."""
    with _held(folder) as runtimes:
        (runtimes / packs.CHOSEN).unlink(missing_ok=True)
        _renew_compute(folder)
        for path in runtimes.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
    print("There is no pack here now. Compute uses the CPU.")


def _cards() -> tuple[Gpu, ...]:
    """The GPUs that a pack is for.

    Raises:
        UpdateError: there is none.
    """
    source = Nvml(lambda: ())
    try:
        if cards := source.read():
            return cards
    except SourceError as error:
        raise UpdateError(error.notice) from error
    finally:
        source.close()
    raise UpdateError(notice("pack.no_card"))


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[Path]:
    """The folder of all packs, in which nobody else changes anything meanwhile."""
    runtimes = folder / RUNTIMES
    try:
        runtimes.mkdir(exist_ok=True)
        with filelock.FileLock(runtimes / LOCK, blocking=False):
            yield runtimes
    except filelock.Timeout:
        raise UpdateError(notice("pack.under_way")) from None
    except OSError as error:
        why = str(error.strerror or error)
        raise UpdateError(notice("pack.not_written", folder=str(runtimes), why=why)) from error


def _failure(new: Path, cards: tuple[Gpu, ...]) -> Notice | None:
    """Why a pack does not work here, as a process of its own found out; None: it does."""
    command = hearth_command("try-pack", *(card.id for card in cards))
    environment = {**os.environ, **FAULTS_AS_NOTICES, PACK: str(new)}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=TRY_S, check=False)
    except subprocess.TimeoutExpired:
        return notice("pack.hangs", within=TRY_S)
    except OSError as error:
        return notice("compute.not_started", why=str(error.strerror))
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return fault_of(said[-1] if said else f"exit code {done.returncode}") if done.returncode else None


def _renew_compute(folder: Path) -> None:
    """Have a worker that runs go by what is chosen now."""
    with contextlib.suppress(NotRunning), ControlClient(folder) as client:
        client.call("renew_compute", {}, dict, RENEW_S)
